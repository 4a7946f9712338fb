#include "operator/kube/identity.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/io/file.h"
#include "base/io/loop.h"
#include "operator/kube/kubeconfig.h"
#include "operator/kube/sources.h"

#define POD_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define CREDENTIAL_MAX_BYTES ((size_t)1024 * 1024)
/* So long before the end a plugin is asked again: files are looked at each minute. */
#define EXPIRING_S 120

static char **field_of(struct identity *identity, size_t field)
{
    return (char **)(void *)((char *)identity + field);
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
static bool read_source(const struct source *source, char **ret, struct err *err)
{
    AUTO(str) struct str text = {0};

    if (!file_read(source->path, CREDENTIAL_MAX_BYTES, &text, err))
        return false;
    if (source->kind == SOURCE_TOKEN)
        trim(&text);
    if (text.len == 0 || memchr(text.ptr, '\0', text.len) != NULL)
        return err_set(err, ERR_INVALID, "%s: empty, or not a text file", source->path);
    if (source->kind == SOURCE_TOKEN && strpbrk(text.ptr, " \t\r\n") != NULL)
        return err_set(err, ERR_INVALID, "%s: not one token", source->path);
    *ret = str_take(&text);
    return true;
}

static bool load_source(struct identity *identity, struct source *source, struct err *err)
{
    char **slot = field_of(identity, source->field);
    AUTO(mem) char *fresh = NULL;

    if (stat(source->path, &source->seen) != 0)
        source->seen = (struct stat){0}; /* the read tells why */
    if (!read_source(source, &fresh, err))
        return false;
    if (source->kind == SOURCE_PEM && !str_eq(*slot, fresh))
        identity->generation++;
    mem_free(*slot);
    *slot = TAKE(fresh);
    return true;
}

static struct identity_sources *sources_of(struct identity *identity)
{
    if (identity->sources == NULL)
        identity->sources = NEW(struct identity_sources);
    return identity->sources;
}

bool sources_add(struct identity *identity, const char *path, enum source_kind kind, size_t field,
                 struct err *err)
{
    struct identity_sources *sources = sources_of(identity);
    struct source *source;

    sources->items = mem_grow(sources->items, sources->count + 1, sizeof(*sources->items));
    source = &sources->items[sources->count++];
    *source = (struct source){.path = mem_strdup(path), .kind = kind, .field = field};
    return load_source(identity, source, err);
}

static void take_text(char **slot, char **fresh)
{
    mem_free(*slot);
    *slot = TAKE(*fresh);
}

static bool run_plugin(struct identity *identity, struct err *err)
{
    AUTO(credential) struct credential fresh = {0};

    if (!plugin_run(identity->sources->plugin, &fresh, err))
        return false;
    identity->sources->expires_s = fresh.expires_s;
    identity->generation +=
        !str_eq(identity->cert_pem, fresh.cert_pem) || !str_eq(identity->key_pem, fresh.key_pem);
    take_text(&identity->token, &fresh.token);
    take_text(&identity->cert_pem, &fresh.cert_pem);
    take_text(&identity->key_pem, &fresh.key_pem);
    return true;
}

bool sources_take_plugin(struct identity *identity, struct plugin *plugin, struct err *err)
{
    sources_of(identity)->plugin = plugin;
    return run_plugin(identity, err);
}

static bool is_expiring(const struct identity_sources *sources)
{
    return sources->expires_s != CREDENTIAL_NEVER_EXPIRES &&
           loop_unix_micros() / 1000000 + EXPIRING_S >= sources->expires_s;
}

void sources_free(struct identity_sources *sources)
{
    if (sources == NULL)
        return;
    plugin_free(sources->plugin);
    for (size_t i = 0; i < sources->count; i++)
        mem_free(sources->items[i].path);
    mem_free(sources->items);
    mem_free(sources);
}

/* Kubernetes swaps a symbolic link in mounted volumes: the inode tells even if the times do not. */
static bool has_changed(const struct source *source)
{
    struct stat now;

    if (stat(source->path, &now) != 0)
        return true;
    return now.st_ino != source->seen.st_ino || now.st_size != source->seen.st_size ||
           now.st_mtim.tv_sec != source->seen.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != source->seen.st_mtim.tv_nsec;
}

bool identity_refresh(struct identity *identity, bool force, struct err *err)
{
    size_t count = identity->sources != NULL ? identity->sources->count : 0;
    bool good = true;

    for (size_t i = 0; i < count; i++) {
        struct source *source = &identity->sources->items[i];

        if (force || has_changed(source))
            good = load_source(identity, source, err) && good;
    }
    if (identity->sources != NULL && identity->sources->plugin != NULL &&
        (force || is_expiring(identity->sources)))
        good = run_plugin(identity, err) && good;
    return good;
}

void identity_release(struct identity *identity)
{
    char *owned[] = {identity->server,    identity->ca_pem, identity->cert_pem,
                     identity->key_pem,   identity->token,  identity->server_name,
                     identity->proxy_url, identity->ns,     identity->origin};

    for (size_t i = 0; i < COUNT_OF(owned); i++)
        mem_free(owned[i]);
    sources_free(identity->sources);
    *identity = (struct identity){0};
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

static bool load_pod(const struct identity_options *options, const char *host, struct identity *ret,
                     struct err *err)
{
    const char *dir = options->pod_dir != NULL ? options->pod_dir : POD_DIR;
    const char *port = options->env("KUBERNETES_SERVICE_PORT");
    AUTO(mem) char *token = mem_printf("%s/token", dir);
    AUTO(mem) char *ca = mem_printf("%s/ca.crt", dir);

    if (port == NULL || port[0] == '\0')
        return err_set(
            err, ERR_INVALID,
            "KUBERNETES_SERVICE_HOST is set but KUBERNETES_SERVICE_PORT is not; in a pod both are");
    ret->server = pod_server(host, port);
    ret->ns = pod_ns(dir);
    ret->origin = mem_strdup("the pod's service account");
    return sources_add(ret, token, SOURCE_TOKEN, offsetof(struct identity, token), err) &&
           sources_add(ret, ca, SOURCE_PEM, offsetof(struct identity, ca_pem), err);
}

/* --- where to look --- */

static const char *env_of(const struct identity_options *options, const char *name)
{
    const char *value = options->env(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

static bool load_home(const struct identity_options *options, struct identity *ret, struct err *err)
{
    const char *home = env_of(options, "HOME");
    AUTO(mem) char *path = home != NULL ? mem_printf("%s/.kube/config", home) : NULL;

    if (path == NULL || access(path, F_OK) != 0)
        return err_set(
            err, ERR_NOT_FOUND,
            "no Kubernetes cluster: not in a pod, KUBECONFIG is not set and there is no ~/.kube/config");
    return kubeconfig_load(path, options, ret, err);
}

static bool load_any(const struct identity_options *options, struct identity *ret, struct err *err)
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

bool identity_load(const struct identity_options *options, struct identity *ret, struct err *err)
{
    struct identity found = {0};

    if (!load_any(options, &found, err)) {
        identity_release(&found);
        return false;
    }
    *ret = found;
    return true;
}
