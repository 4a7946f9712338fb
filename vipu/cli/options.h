/* The options of vipu: one table for flags, environment, configuration file and help. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/opts.h"
#include "base/core/str.h"
#include "vipu/model/partition.h"

#define OPTIONS_DEFAULT_FILE "/etc/vipu/vipu-cli.hcl"

struct options {
    char *api_host;
    uint32_t api_port;
    uint32_t api_timeout_s;
    char *api_user_id;
    char *api_access_key;
    char *config;
    bool server_version;
    bool showjson;
    /* create partition */
    uint32_t size;
    bool reconfigurable;
    uint32_t num_gcds;
    uint32_t gcd_sync_replicas;
    uint32_t num_ilds;
    char *routing;
    char *gw_routing;
    char *sync_type;
    char *cluster;
    char *allocation; /* also list partition */
    char *index;
    bool relocatable; /* also reset partition */
    bool disable_auto_reset;
    /* get partition */
    char *gcd;
    bool ipuof_configs;
    /* remove partition */
    bool force;
};

extern const struct opts_spec options_spec;

/* Flag, environment, file, default, in this order of strength. `file` is the configuration file's text, or
 * NULL. */
enum opts_result options_parse(int argc, char **argv, const char *(*env)(const char *),
                               const struct str *file, const char *file_name, struct options *ret,
                               struct strv *words, struct strv *problems);

/* The part of a create request that the options hold; borrows from them. `ipus` gets the IPUs that --index
 * means, and is yours. Problems are sentences. */
bool options_requirements(const struct options *options, const char *id, struct vipu_requirements *ret,
                          struct vipu_ipu **ret_ipus, struct strv *problems);
/* --gcd as a number; -1 when it is not given. */
bool options_gcd(const struct options *options, int64_t *ret, struct strv *problems);
