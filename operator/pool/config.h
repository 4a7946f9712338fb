/* Which V-IPU controllers there are and which nodes reach them: from the string of the original chart
 * ("host:port:label=value,...") or the operator's configuration file. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "operator/forecast/forecast.h"

struct vipu_controller_config {
    char *name; /* "host:port" */
    char *host;
    uint16_t port;
    char *node_label; /* key; NULL: pods may run on any node */
    char *node_value;
    char *secret;    /* name, in the operator's namespace, of what the operator is let in with; NULL: none */
    bool tls;        /* true where there is a Secret, unless it is said otherwise */
    bool has_policy; /* else that of the queue */
    enum forecast_policy policy;
};

struct pool_config {
    struct vipu_controller_config *items;
    size_t count;
};

/* Adds the controllers of "host:port:label=value,..."; label and value, and the port (8090), may be omitted.
 * IPv6 addresses are in brackets. Every mistake is one sentence in `problems`. */
void pool_config_add_text(struct pool_config *config, const char *text, struct strv *problems);
/* The file's bytes: `vipuControllers:` with the string above, or a list of {host, port, selector, secretRef:
 * {name}, tls, policy}. Problems
 * begin with "NAME: line N: ". */
void pool_config_add_yaml(struct pool_config *config, struct slice yaml, const char *name,
                          struct strv *problems);
void pool_config_release(struct pool_config *config);
