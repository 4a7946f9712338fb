/* Reads kubeconfig files, several merged like kubectl does (the first file that sets a value wins), into a
 * client configuration. Auth-provider plugins are rejected; exec plugins run if the options allow it. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "operator/kube/auth/client_config.h"

typedef const char *(*client_config_env_fn)(const char *name);

struct client_config_options {
    const char *kubeconfig;   /* one path, or several joined by ':'; NULL: see client_config_load */
    const char *context;      /* NULL: current-context */
    client_config_env_fn env; /* getenv of the program */
    bool may_run_plugins;     /* the caller has nothing to miss while it waits for another program */
    bool is_personal;         /* a person's tool, which does as kubectl: a kubeconfig precedes the pod's
                                 account, plugins may ask on the terminal, and the environment may name a
                                 proxy */
    const char *pod_dir;      /* NULL: /var/run/secrets/kubernetes.io/serviceaccount */
};

/* paths: one, or several joined by ':'. Of several, files that do not exist are left out. On failure ret may
 * be partly filled: release it. */
MUST_USE bool kubeconfig_load(const char *paths, const struct client_config_options *options,
                              struct client_config *ret, struct err *err);
