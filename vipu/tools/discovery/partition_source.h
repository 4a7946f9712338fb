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

#include "base/options/opts.h"

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
    char *ca_file, *cert_file, *key_file;
};

enum partition_source_kind { SOURCE_FILE, SOURCE_CONTROLLER, SOURCE_FOLDERS };

enum partition_source_kind partition_source_kind(const struct partition_source *source);
/* The rows of a program's option table whose struct starts with a struct partition_source. */
#define SOURCE_AT(field) offsetof(struct partition_source, field)
#define SOURCE_ROWS                                                                                          \
    OPT_VALUE("config-path", OPT_STR, SOURCE_AT(config_path), "FILE",                                        \
              "IPUoF file of the partition; takes precedence over all other settings",                       \
              .env = "IPUOF_CONFIG_PATH"),                                                                   \
        OPT_VALUE("api-host", OPT_STR, SOURCE_AT(host), "HOST",                                              \
                  "host of the V-IPU controller (default: localhost if a partition is given)",               \
                  .letter = 'H', .env = "IPUOF_VIPU_API_HOST"),                                              \
        OPT_VALUE("api-port", OPT_U32, SOURCE_AT(port), "PORT", "its port", .letter = 'P',                   \
                  .env = "IPUOF_VIPU_API_PORT", .fallback = "8090", .min = 1, .max = 65535),                 \
        OPT_VALUE("partition", OPT_STR, SOURCE_AT(partition), "ID",                                          \
                  "partition ID; required if the controller has several", .letter = 'p',                     \
                  .env = "IPUOF_VIPU_API_PARTITION_ID"),                                                     \
        OPT_VALUE("gcd-id", OPT_U32, SOURCE_AT(gcd), "N", "graph compilation domain of the partition",       \
                  .env = "IPUOF_VIPU_API_GCD_ID", .fallback = "0", .max = 65535),                            \
        OPT_VALUE("api-timeout", OPT_U32, SOURCE_AT(timeout_s), "SECONDS",                                   \
                  "timeout of a request to the controller", .env = "IPUOF_VIPU_API_TIMEOUT",                 \
                  .fallback = "120", .min = 1, .max = 86400),                                                \
        OPT_VALUE("api-user-id", OPT_STR, SOURCE_AT(user_id), "USER",                                        \
                  "user ID, for a controller in secure mode", .env = "VIPU_CLI_API_USER_ID"),                \
        OPT_VALUE("api-access-key", OPT_STR, SOURCE_AT(access_key), "KEY", "access key of the user",         \
                  .env = "VIPU_CLI_API_ACCESS_KEY"),                                                         \
        OPT_SWITCH("api-tls", SOURCE_AT(tls), "use TLS", .env = "VIPU_CLI_API_TLS"),                         \
        OPT_VALUE("api-ca-cert", OPT_STR, SOURCE_AT(ca_file), "FILE",                                        \
                  "PEM file with CA certificates (default: the system's); implies TLS",                      \
                  .env = "VIPU_CLI_API_CA_CERT"),                                                            \
        OPT_VALUE("api-client-cert", OPT_STR, SOURCE_AT(cert_file), "FILE",                                  \
                  "PEM file with a client certificate, in place of an access key; implies TLS",              \
                  .env = "VIPU_CLI_API_CLIENT_CERT"),                                                        \
        OPT_VALUE("api-client-key", OPT_STR, SOURCE_AT(key_file), "FILE",                                    \
                  "PEM file with its private key (default: the file of the certificate)",                    \
                  .env = "VIPU_CLI_API_CLIENT_KEY")
