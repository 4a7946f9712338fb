/* The API server's address and this process's credentials. config_loader.h loads them, credential_files.h
 * reads token, CA and certificate files again when they change; `generation` counts the changes that need new
 * connections. All strings are owned. */
#pragma once

#include <stdbool.h>

struct credential_files;

struct client_config {
    char *server; /* "https://host:port", no trailing slash */
    char *ca_pem; /* NULL: the system's */
    char *cert_pem;
    char *key_pem;
    char *token;       /* NULL: none */
    char *server_name; /* tls-server-name, or NULL */
    char *proxy_url;
    bool env_proxy; /* without proxy_url, the environment's */
    char *ns;       /* the context's or the pod's namespace; "default" when none is given */
    char *origin; /* "context kind-dev of /home/x/.kube/config" or "the pod's service account", for the log */
    bool insecure; /* insecure-skip-tls-verify: say so in the log */
    unsigned generation;
    struct credential_files *sources;
};
