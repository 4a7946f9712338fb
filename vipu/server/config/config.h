/* The configuration of vipu-server: one YAML file; every mistake is reported with its line. Without a file
 * there is one cluster "cl1": one torus domain of 16 agents, 64 IPUs. Reading is pure: the files it names
 * (certificates, access keys) are read by the modules that use them. Owned contents. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/model/cluster.h"
#include "vipu/server/config/config_clusters.h"
#include "vipu/server/controller/controller.h"
#include "vipu/server/controller/faults.h"
#include "vipu/server/controller/users.h"

#define CONFIG_MAX_BYTES ((size_t)1024 * 1024)

struct server_limits {
    uint32_t request_bytes;
    uint32_t connections;
    uint32_t calls;
    uint32_t unread_bytes;
    uint32_t buffered_bytes;
    uint32_t stall_ms;
};

struct server_config {
    char *listen;
    char *admin_listen; /* NULL: no HTTP endpoint */
    char *storage;
    char *version;         /* of the user API, as GetVersion returns it */
    char *tls_certificate; /* NULL: cleartext; otherwise key is set, too */
    char *tls_key;
    char *tls_client_ca; /* NULL: no client certificates */
    unsigned tls_line;   /* the lines of both, for messages */
    bool secure;
    struct server_limits limits;
    struct controller_times times;
    uint32_t max_auto_reset_retries;
    struct vipu_clusters clusters;
    struct users users;
    struct faults faults;
};

/* The configuration when no file is given. */
struct server_config server_config_default(void);
/* `name` is used in messages. False: `problems` has one sentence per mistake, and the result, which has to
 * be released as always, is only useful to find more mistakes. */
bool server_config_parse(struct slice text, const char *name, struct server_config *ret,
                         struct strv *problems);
/* Restores the settings that only a start can change, and names those that differ in the file. */
void server_config_keep_fixed(struct server_config *config, const struct server_config *running,
                              struct strv *changed);
void server_config_release(struct server_config *config);
/* Every setting with its default, one per line. */
void server_config_help(struct str *out);
