/* The options of vipu: one table for flags, environment, configuration file and help. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options/opts.h"
#include "base/core/str.h"
#include "vipu/cli/args/grammar.h"

#define OPTIONS_DEFAULT_FILE "/etc/vipu/vipu-cli.hcl"

enum output { OUTPUT_TABLE, OUTPUT_JSON };

struct options {
    char *api_host;
    uint32_t api_port;
    uint32_t api_timeout_s;
    char *api_user_id;
    char *api_access_key;
    bool api_tls;
    char *api_ca_cert;
    char *api_client_cert;
    char *api_client_key;
    char *config;
    bool server_version;
    int output; /* enum output */
    bool showjson;
    int table_layout; /* enum show_layout */
    bool admin;
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
    char *allocation; /* also list partitions */
    char *index;
    char *ipus;
    bool relocatable; /* also reset partition */
    bool disable_auto_reset;
    /* get partition */
    char *gcd;
    bool ipuof_configs;
    /* remove partition */
    bool force;
};

extern const struct opts_spec options_spec;

/* Flag, environment, file, default, in descending precedence. `file` is the content of the configuration
 * file, or NULL. */
enum opts_result options_parse(int argc, char **argv, const char *(*env)(const char *),
                               const struct str *file, const char *file_name, struct options *ret,
                               struct strv *words, struct strv *problems);

/* Adds a problem for each given option that belongs to other commands. */
void options_check(const struct options *options, const struct command *command, struct strv *problems);
