#include "operator/kube/auth/client_config.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/io/file.h"
#include "base/io/loop.h"
#include "operator/kube/auth/kubeconfig.h"
#include "operator/kube/auth/credential_files.h"

#define POD_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define CREDENTIAL_MAX_BYTES ((size_t)1024 * 1024)
/* A plugin runs again this long before its credentials expire: files are checked each minute. */
#define EXPIRING_S 120

static char **field_of(struct client_config *config, size_t field)
{
    return (char **)(void *)((char *)config + field);
}

static void trim(struct str *text)
{
    size_t blanks = 0;

    while (text->len > 0 && isspace((unsigned char)text->ptr[text->len - 1]))
        text->ptr[--text->len] = '\0';
    while (blanks < text->len && isspace((unsigned char)text->ptr[blanks]))
        blanks++;
    str_drop(text, blanks);
}

/* A token in a header line, or a PEM text, never holds a NUL byte. */
static bool read_source(const struct credential_file *file, char **ret, struct err *err)
{
    AUTO(str) struct str text = {0};

    if (!file_read(file->path, CREDENTIAL_MAX_BYTES, &text, err))
        return false;
    if (file->kind == SOURCE_TOKEN)
        trim(&text);
    if (text.len == 0 || memchr(text.ptr, '\0', text.len) != NULL)
        return err_set(err, ERR_INVALID, "%s: file is empty or not text", file->path);
    if (file->kind == SOURCE_TOKEN && strpbrk(text.ptr, " \t\r\n") != NULL)
        return err_set(err, ERR_INVALID, "%s: expected a single token", file->path);
    *ret = str_take(&text);
    return true;
}

static bool load_source(struct client_config *config, struct credential_file *file, struct err *err)
{
    char **slot = field_of(config, file->field);
    AUTO(mem) char *fresh = NULL;

    if (stat(file->path, &file->seen) != 0)
        file->seen = (struct stat){0}; /* the read reports why */
    if (!read_source(file, &fresh, err))
        return false;
    if (file->kind == SOURCE_PEM && !str_eq(*slot, fresh))
        config->generation++;
    mem_free(*slot);
    *slot = TAKE(fresh);
    return true;
}

static struct credential_files *sources_of(struct client_config *config)
{
    if (config->sources == NULL)
        config->sources = NEW(struct credential_files);
    return config->sources;
}

bool credential_files_add(struct client_config *config, const char *path, enum source_kind kind, size_t field,
                          struct err *err)
{
    struct credential_files *sources = sources_of(config);
    struct credential_file *file;

    sources->items = mem_grow(sources->items, sources->count + 1, sizeof(*sources->items));
    file = &sources->items[sources->count++];
    *file = (struct credential_file){.path = mem_strdup(path), .kind = kind, .field = field};
    return load_source(config, file, err);
}

static void take_text(char **slot, char **fresh)
{
    mem_free(*slot);
    *slot = TAKE(*fresh);
}

static bool run_plugin(struct client_config *config, struct err *err)
{
    AUTO(exec_credential) struct exec_credential fresh = {0};

    if (!exec_plugin_run(config->sources->exec_plugin, &fresh, err))
        return false;
    config->sources->expires_s = fresh.expires_s;
    config->generation +=
        !str_eq(config->cert_pem, fresh.cert_pem) || !str_eq(config->key_pem, fresh.key_pem);
    take_text(&config->token, &fresh.token);
    take_text(&config->cert_pem, &fresh.cert_pem);
    take_text(&config->key_pem, &fresh.key_pem);
    return true;
}

bool credential_files_set_exec_plugin(struct client_config *config, struct exec_plugin *plugin,
                                      struct err *err)
{
    sources_of(config)->exec_plugin = plugin;
    return run_plugin(config, err);
}

static bool is_expiring(const struct credential_files *sources)
{
    return sources->expires_s != CREDENTIAL_NEVER_EXPIRES &&
           loop_unix_micros() / 1000000 + EXPIRING_S >= sources->expires_s;
}

void credential_files_free(struct credential_files *sources)
{
    if (sources == NULL)
        return;
    exec_plugin_free(sources->exec_plugin);
    for (size_t i = 0; i < sources->count; i++)
        mem_free(sources->items[i].path);
    mem_free(sources->items);
    mem_free(sources);
}

/* Kubernetes swaps a symbolic link in mounted volumes: the inode changes even if the times do not. */
static bool has_changed(const struct credential_file *file)
{
    struct stat now;

    if (stat(file->path, &now) != 0)
        return true;
    return now.st_ino != file->seen.st_ino || now.st_size != file->seen.st_size ||
           now.st_mtim.tv_sec != file->seen.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != file->seen.st_mtim.tv_nsec;
}

bool client_config_refresh(struct client_config *config, bool force, struct err *err)
{
    size_t count = config->sources != NULL ? config->sources->count : 0;
    bool good = true;

    for (size_t i = 0; i < count; i++) {
        struct credential_file *file = &config->sources->items[i];

        if (force || has_changed(file))
            good = load_source(config, file, err) && good;
    }
    if (config->sources != NULL && config->sources->exec_plugin != NULL &&
        (force || is_expiring(config->sources)))
        good = run_plugin(config, err) && good;
    return good;
}

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

    if (!file_read(path, CREDENTIAL_MAX_BYTES, &text, &absent)) /* optional in projected volumes */
        return mem_strdup("default");
    trim(&text);
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

static bool load_home(const struct client_config_options *options, struct client_config *ret, struct err *err)
{
    const char *home = env_of(options, "HOME");
    AUTO(mem) char *path = home != NULL ? mem_printf("%s/.kube/config", home) : NULL;

    if (path == NULL || access(path, F_OK) != 0)
        return err_set(err, ERR_NOT_FOUND,
                       "no cluster configured: not running in a pod, KUBECONFIG is not set and "
                       "~/.kube/config does not exist");
    return kubeconfig_load(path, options, ret, err);
}

static bool load_any(const struct client_config_options *options, struct client_config *ret, struct err *err)
{
    const char *host = env_of(options, "KUBERNETES_SERVICE_HOST");
    const char *paths = options->kubeconfig;

    if (paths == NULL && host != NULL)
        return load_pod(options, host, ret, err);
    if (paths == NULL)
        paths = env_of(options, "KUBECONFIG");
    if (paths != NULL)
        return kubeconfig_load(paths, options, ret, err);
    return load_home(options, ret, err);
}

bool client_config_load(const struct client_config_options *options, struct client_config *ret,
                        struct err *err)
{
    struct client_config found = {0};

    if (!load_any(options, &found, err)) {
        client_config_release(&found);
        return false;
    }
    *ret = found;
    return true;
}
