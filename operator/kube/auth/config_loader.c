#include "operator/kube/auth/config_loader.h"

#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/io/file.h"
#include "operator/kube/auth/credential_files.h"
#include "operator/kube/auth/kubeconfig.h"

#define POD_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define NAMESPACE_MAX_BYTES ((size_t)1024)

void client_config_release(struct client_config *config)
{
    char *owned[] = {config->server,      config->ca_pem,    config->cert_pem, config->key_pem, config->token,
                     config->server_name, config->proxy_url, config->ns,       config->origin};

    for (size_t i = 0; i < COUNT_OF(owned); i++)
        mem_free(owned[i]);
    credential_files_free(config->sources);
    *config = (struct client_config){0};
}

/* --- in a pod --- */

static char *pod_server(const char *host, const char *port)
{
    bool is_ipv6 = strchr(host, ':') != NULL;

    return mem_printf(is_ipv6 ? "https://[%s]:%s" : "https://%s:%s", host, port);
}

static char *pod_ns(const char *dir)
{
    AUTO(mem) char *path = mem_printf("%s/namespace", dir);
    AUTO(str) struct str text = {0};
    struct err absent = {0};

    if (!file_read(path, NAMESPACE_MAX_BYTES, &text, &absent)) /* optional in projected volumes */
        return mem_strdup("default");
    str_trim(&text);
    return str_take(&text);
}

static bool load_pod(const struct client_config_options *options, const char *host, struct client_config *ret,
                     struct err *err)
{
    const char *dir = options->pod_dir != NULL ? options->pod_dir : POD_DIR;
    const char *port = options->env("KUBERNETES_SERVICE_PORT");
    AUTO(mem) char *token = mem_printf("%s/token", dir);
    AUTO(mem) char *ca = mem_printf("%s/ca.crt", dir);

    if (port == NULL || port[0] == '\0')
        return err_set(
            err, ERR_INVALID,
            "KUBERNETES_SERVICE_HOST is set but KUBERNETES_SERVICE_PORT is not; set both or neither");
    ret->server = pod_server(host, port);
    ret->ns = pod_ns(dir);
    ret->origin = mem_strdup("the pod's service account");
    return credential_files_add(ret, token, SOURCE_TOKEN, offsetof(struct client_config, token), err) &&
           credential_files_add(ret, ca, SOURCE_PEM, offsetof(struct client_config, ca_pem), err);
}

/* --- search order --- */

static const char *env_of(const struct client_config_options *options, const char *name)
{
    const char *value = options->env(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

static const char *pod_host(const struct client_config_options *options)
{
    return env_of(options, "KUBERNETES_SERVICE_HOST");
}

static bool load_home(const struct client_config_options *options, struct client_config *ret, struct err *err)
{
    const char *home = env_of(options, "HOME");
    AUTO(mem) char *path = home != NULL ? mem_printf("%s/.kube/config", home) : NULL;

    if ((path == NULL || access(path, F_OK) != 0) && pod_host(options) != NULL)
        return load_pod(options, pod_host(options), ret, err);
    if (path == NULL || access(path, F_OK) != 0)
        return err_set(err, ERR_NOT_FOUND,
                       "no cluster configured: not running in a pod, KUBECONFIG is not set and "
                       "~/.kube/config does not exist");
    return kubeconfig_load(path, options, ret, err);
}

static bool load_any(const struct client_config_options *options, struct client_config *ret, struct err *err)
{
    const char *paths = options->kubeconfig;

    if (paths == NULL && pod_host(options) != NULL && !options->is_personal)
        return load_pod(options, pod_host(options), ret, err);
    if (paths == NULL)
        paths = env_of(options, "KUBECONFIG");
    if (paths != NULL)
        return kubeconfig_load(paths, options, ret, err);
    return load_home(options, ret, err);
}

/* kubectl uses no proxy for this machine, whatever the environment says. */
static bool is_local(const char *server)
{
    static const char *const hosts[] = {"localhost", "127.", "[::1]"};
    const char *host = strstr(server, "://");

    for (size_t i = 0; host && i < COUNT_OF(hosts); i++) {
        if (str_has_prefix(host + 3, hosts[i]))
            return true;
    }
    return false;
}

bool client_config_load(const struct client_config_options *options, struct client_config *ret,
                        struct err *err)
{
    struct client_config found = {0};

    if (!load_any(options, &found, err)) {
        client_config_release(&found);
        return false;
    }
    found.env_proxy = options->is_personal && !is_local(found.server);
    *ret = found;
    return true;
}
