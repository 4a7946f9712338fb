/* Which partition a program on this host uses, and the options and environment variables (those that the
 * IPUoF client reads) that select it. In descending precedence:
 *
 *   1. a file (IPUOF_CONFIG_PATH)
 *   2. a controller (IPUOF_VIPU_API_HOST) and a partition of it (IPUOF_VIPU_API_PARTITION_ID); without a
 *      partition the only one that the controller has
 *   3. the IPUoF files in ~/.ipuof.conf.d, then in /etc/ipuof.conf.d, if they describe a single partition
 *
 * If a partition has several GCDs, IPUOF_VIPU_API_GCD_ID selects one; the default is the first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/opts.h"

#define SOURCE_SYSTEM_FOLDER "/etc/ipuof.conf.d"
#define SOURCE_DEFAULT_HOST "localhost"

struct partition_source {
    char *config_path;
    char *host;
    uint32_t port;
    char *partition;
    uint32_t gcd;
    uint32_t timeout_s;
    char *user_id;
    char *access_key;
    bool tls;
    char *ca_file;
};

enum partition_source_kind { SOURCE_FILE, SOURCE_CONTROLLER, SOURCE_FOLDERS };

enum partition_source_kind partition_source_kind(const struct partition_source *source);
/* Whether a controller may be asked about more than the program's own partition. */
bool partition_source_has_controller(const struct partition_source *source);

/* The rows of a program's option table whose struct starts with a struct partition_source. */
#define SOURCE_AT(field) .offset = offsetof(struct partition_source, field)
#define SOURCE_ROWS                                                                                          \
    {.flag = "config-path",                                                                                  \
     .env = "IPUOF_CONFIG_PATH",                                                                             \
     .type = OPT_STR,                                                                                        \
     SOURCE_AT(config_path),                                                                                 \
     .arg = "FILE",                                                                                          \
     .help = "IPUoF file of the partition; takes precedence over all other settings"},                       \
        {.flag = "api-host",                                                                                 \
         .letter = 'H',                                                                                      \
         .env = "IPUOF_VIPU_API_HOST",                                                                       \
         .type = OPT_STR,                                                                                    \
         SOURCE_AT(host),                                                                                    \
         .arg = "HOST",                                                                                      \
         .help = "host of the V-IPU controller (default: localhost if a partition is given)"},               \
        {.flag = "api-port",                                                                                 \
         .letter = 'P',                                                                                      \
         .env = "IPUOF_VIPU_API_PORT",                                                                       \
         .type = OPT_U32,                                                                                    \
         SOURCE_AT(port),                                                                                    \
         .fallback = "8090",                                                                                 \
         .arg = "PORT",                                                                                      \
         .min = 1,                                                                                           \
         .max = 65535,                                                                                       \
         .help = "its port"},                                                                                \
        {.flag = "partition",                                                                                \
         .letter = 'p',                                                                                      \
         .env = "IPUOF_VIPU_API_PARTITION_ID",                                                               \
         .type = OPT_STR,                                                                                    \
         SOURCE_AT(partition),                                                                               \
         .arg = "ID",                                                                                        \
         .help = "partition ID; required if the controller has several"},                                    \
        {.flag = "gcd-id",                                                                                   \
         .env = "IPUOF_VIPU_API_GCD_ID",                                                                     \
         .type = OPT_U32,                                                                                    \
         SOURCE_AT(gcd),                                                                                     \
         .fallback = "0",                                                                                    \
         .arg = "N",                                                                                         \
         .max = 65535,                                                                                       \
         .help = "graph compilation domain of the partition"},                                               \
        {.flag = "api-timeout",                                                                              \
         .env = "IPUOF_VIPU_API_TIMEOUT",                                                                    \
         .type = OPT_U32,                                                                                    \
         SOURCE_AT(timeout_s),                                                                               \
         .fallback = "120",                                                                                  \
         .arg = "SECONDS",                                                                                   \
         .min = 1,                                                                                           \
         .max = 86400,                                                                                       \
         .help = "timeout of a request to the controller"},                                                  \
        {.flag = "api-user-id",                                                                              \
         .env = "VIPU_CLI_API_USER_ID",                                                                      \
         .type = OPT_STR,                                                                                    \
         SOURCE_AT(user_id),                                                                                 \
         .arg = "USER",                                                                                      \
         .help = "user ID, for a controller in secure mode"},                                                \
        {.flag = "api-access-key",                                                                           \
         .env = "VIPU_CLI_API_ACCESS_KEY",                                                                   \
         .type = OPT_STR,                                                                                    \
         SOURCE_AT(access_key),                                                                              \
         .arg = "KEY",                                                                                       \
         .help = "access key of the user"},                                                                  \
        {.flag = "api-tls", .env = "VIPU_CLI_API_TLS", .type = OPT_FLAG, SOURCE_AT(tls), .help = "use TLS"}, \
    {                                                                                                        \
        .flag = "api-ca-cert", .env = "VIPU_CLI_API_CA_CERT", .type = OPT_STR, SOURCE_AT(ca_file),           \
        .arg = "FILE", .help = "PEM file with CA certificates (default: the system's); implies TLS"          \
    }
