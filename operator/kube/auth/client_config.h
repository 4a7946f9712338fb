/* The API server's address and this process's credentials: from a kubeconfig or from the files of a pod.
 * Refuses what it cannot do (auth-provider; exec plugins, unless the caller may wait for them) with a
 * sentence instead of connecting without credentials.
 *
 * Token, CA and certificate files are read again when they change (identity_refresh); `generation` counts the
 * changes that need new connections. All strings are owned by the identity. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"

struct credential_files;

struct client_config {
    char *server; /* "https://host:port", no trailing slash */
    char *ca_pem; /* NULL: the system's */
    char *cert_pem;
    char *key_pem;
    char *token;       /* NULL: none */
    char *server_name; /* tls-server-name, or NULL */
    char *proxy_url;
    char *ns;     /* the context's or the pod's namespace; "default" when none is given */
    char *origin; /* "context kind-dev of /home/x/.kube/config" or "the pod's service account", for the log */
    bool insecure; /* insecure-skip-tls-verify: say so in the log */
    unsigned generation;
    struct credential_files *sources;
};

typedef const char *(*client_config_env_fn)(const char *name);

struct client_config_options {
    const char *kubeconfig;   /* one path, or several joined by ':'; NULL: see identity_load */
    const char *context;      /* NULL: current-context */
    client_config_env_fn env; /* getenv of the program */
    bool may_run_plugins;     /* the caller has nothing to miss while it waits for another program */
    const char *pod_dir;      /* NULL: /var/run/secrets/kubernetes.io/serviceaccount */
};

/* options.kubeconfig, else in a pod the service account, else KUBECONFIG, else ~/.kube/config. Errors are
 * one line: file, line, mistake. ERR_NOT_FOUND if none of these exists, ERR_INVALID if one cannot be used. */
MUST_USE bool client_config_load(const struct client_config_options *options, struct client_config *ret,
                                 struct err *err);

/* Reads the files again whose change time differs (all of them when `force`). True also when nothing changed;
 * on failure the old values stay. Compare `generation` before and after. */
MUST_USE bool client_config_refresh(struct client_config *config, bool force, struct err *err);
void client_config_release(struct client_config *config);
