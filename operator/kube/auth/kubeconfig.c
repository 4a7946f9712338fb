#include "operator/kube/auth/kubeconfig.h"

#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/doc/yaml.h"
#include "base/io/file.h"
#include "operator/kube/auth/base64.h"
#include "operator/kube/auth/credential_files.h"

#define FILE_MAX_BYTES ((size_t)4 * 1024 * 1024)
#define FILES_MAX 32u

struct file {
    char *path;
    struct yaml_doc doc;
};

struct files {
    struct file items[FILES_MAX];
    size_t count;
};

/* A node and its file: for messages and for relative paths. */
struct place {
    const struct file *file;
    const cJSON *node; /* NULL: nowhere */
};

static void files_auto(struct files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        mem_free(files->items[i].path);
        yaml_release(&files->items[i].doc);
    }
}

static bool reject(const struct place *place, const cJSON *node, struct err *err, const char *what)
{
    return err_set(err, ERR_INVALID, "%s: line %u: %s", place->file->path, yaml_line(&place->file->doc, node),
                   what);
}

static bool read_file(struct files *files, const char *path, struct err *err)
{
    AUTO(str) struct str text = {.max = FILE_MAX_BYTES};
    struct file *file = &files->items[files->count];

    if (!file_read(path, FILE_MAX_BYTES, &text, err))
        return false;
    *file = (struct file){0};
    if (!yaml_parse(str_slice(&text), path, &file->doc, err))
        return false;
    file->path = mem_strdup(path);
    files->count++;
    if (file->doc.root != NULL && !cJSON_IsObject(file->doc.root))
        return err_set(err, ERR_INVALID, "%s: line 1: not a kubeconfig (no fields)", path);
    return true;
}

static bool read_files(const char *paths, struct files *files, struct err *err)
{
    bool is_list = strchr(paths, ':') != NULL;

    for (const char *at = paths; *at != '\0';) {
        size_t length = strcspn(at, ":");
        AUTO(mem) char *path = mem_strndup(at, length);

        at += length + (at[length] == ':');
        if (length == 0 || (is_list && access(path, F_OK) != 0))
            continue;
        if (files->count == FILES_MAX)
            return err_set(err, ERR_INVALID, "more than %u kubeconfig files", FILES_MAX);
        if (!read_file(files, path, err))
            return false;
    }
    if (files->count == 0)
        return err_set(err, ERR_NOT_FOUND, "none of the kubeconfig files exists: %s", paths);
    return true;
}

/* The first file that has an entry of this name in the list ("contexts") wins; ret's node is its body
 * ("context"). */
static struct place find(const struct files *files, const char *list, const char *body, const char *name)
{
    for (size_t i = 0; i < files->count; i++)
        JSON_EACH (entry, json_at(files->items[i].doc.root, list))
            if (str_eq(json_str(entry, "name", NULL), name))
                return (struct place){&files->items[i], json_at(entry, body)};
    return (struct place){0};
}

static const char *current_context(const struct files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        const char *name = json_str(files->items[i].doc.root, "current-context", "");

        if (name[0] != '\0')
            return name;
    }
    return NULL;
}

/* Paths in a kubeconfig are relative to the file that holds them. */
static char *absolute(const struct place *place, const char *path)
{
    const char *slash = strrchr(place->file->path, '/');

    if (path[0] == '/' || slash == NULL)
        return mem_strdup(path);
    return mem_printf("%.*s/%s", (int)(slash - place->file->path), place->file->path, path);
}

static bool take_data(const struct place *place, const char *key, char **slot, struct err *err)
{
    const cJSON *node = json_at(place->node, key);
    AUTO(str) struct str bytes = {0};
    struct slice text = slice_of(json_str(place->node, key, ""));

    if (!base64_decode(text, &bytes) || bytes.len == 0 || memchr(bytes.ptr, '\0', bytes.len) != NULL) {
        AUTO(mem) char *what = mem_printf("%s is not base64-encoded PEM", key);
        return reject(place, node, err, what);
    }
    mem_free(*slot);
    *slot = str_take(&bytes);
    return true;
}

static bool take_file(struct client_config *ret, const struct place *place, const char *key,
                      enum source_kind kind, size_t field, struct err *err)
{
    AUTO(mem) char *path = absolute(place, json_str(place->node, key, ""));

    if (credential_files_add(ret, path, kind, field, err))
        return true;
    return err_wrap(err, "%s: line %u: %s", place->file->path,
                    yaml_line(&place->file->doc, json_at(place->node, key)), key);
}

/* "certificate-authority-data" wins over "certificate-authority", as in kubectl. */
static bool take_pem(struct client_config *ret, const struct place *place, const char *key, size_t field,
                     char **slot, struct err *err)
{
    AUTO(mem) char *data_key = mem_printf("%s-data", key);

    if (json_at(place->node, data_key) != NULL)
        return take_data(place, data_key, slot, err);
    if (json_at(place->node, key) != NULL)
        return take_file(ret, place, key, SOURCE_PEM, field, err);
    return true;
}

static bool take_server(const struct place *cluster, struct client_config *ret, struct err *err)
{
    const char *server = json_str(cluster->node, "server", "");
    size_t length = strlen(server);

    if (!str_has_prefix(server, "https://") && !str_has_prefix(server, "http://"))
        return reject(cluster, cluster->node, err, "the cluster's server must be an http or https URL");
    if (strpbrk(server, "@?#")) /* it is logged, and must hold no password */
        return reject(
            cluster, cluster->node, err,
            "the cluster's server may contain only host, port and path; put credentials into the user entry");
    while (length > 0 && server[length - 1] == '/')
        length--;
    ret->server = mem_strndup(server, length);
    return true;
}

static bool take_cluster(const struct place *cluster, struct client_config *ret, struct err *err)
{
    if (!take_server(cluster, ret, err))
        return false;
    ret->insecure = json_bool(cluster->node, "insecure-skip-tls-verify", false);
    ret->server_name = mem_strdup(json_str(cluster->node, "tls-server-name", NULL));
    ret->proxy_url = mem_strdup(json_str(cluster->node, "proxy-url", NULL));
    return take_pem(ret, cluster, "certificate-authority", offsetof(struct client_config, ca_pem),
                    &ret->ca_pem, err);
}

/* Nothing is guessed: without its credentials every request would be anonymous, and the error a riddle. */
static bool reject_plugins(const struct place *user, struct err *err)
{
    static const char *const rejected[] = {"auth-provider", "username", "as"};

    for (size_t i = 0; i < COUNT_OF(rejected); i++) {
        const cJSON *node = json_at(user->node, rejected[i]);

        if (node != NULL) {
            AUTO(mem)
            char *what = mem_printf("\"%s\" credentials are not supported; use a token (kubectl create "
                                    "token), a token file or a client certificate",
                                    rejected[i]);
            return reject(user, node, err, what);
        }
    }
    return true;
}

static bool take_token(const struct place *user, struct client_config *ret, struct err *err)
{
    const char *token = json_str(user->node, "token", "");

    if (json_at(user->node, "tokenFile") != NULL)
        return take_file(ret, user, "tokenFile", SOURCE_TOKEN, offsetof(struct client_config, token), err);
    if (token[0] == '\0')
        return true;
    if (strpbrk(token, " \t\r\n") != NULL)
        return reject(user, json_at(user->node, "token"), err, "the token contains whitespace");
    ret->token = mem_strdup(token);
    return true;
}

/* The cluster as kubectl describes it to a plugin that requests it. Owned by the caller. */
static cJSON *describe_cluster(const struct place *cluster, const struct client_config *client_config)
{
    cJSON *info = json_object();
    AUTO(str) struct str ca = {0};

    json_put_str(info, "server", client_config->server);
    json_put_str(info, "tls-server-name", client_config->server_name);
    json_put_str(info, "proxy-url", client_config->proxy_url);
    if (client_config->insecure)
        json_put_bool(info, "insecure-skip-tls-verify", true);
    base64_encode(slice_of(client_config->ca_pem), &ca);
    if (ca.len)
        json_put_str(info, "certificate-authority-data", str_text(&ca));
    JSON_EACH (extension, json_at(cluster->node, "extensions")) {
        const cJSON *config = json_at(extension, "extension");

        if (str_eq(json_str(extension, "name", ""), "client.authentication.k8s.io/exec") && config)
            json_put_take(info, "config", json_dup(config));
    }
    return info;
}

/* The operator's lease would be lost while it waits. */
static bool run_plugin(const struct place *user, const struct place *cluster,
                       const struct client_config_options *options, struct client_config *ret,
                       struct err *err)
{
    const cJSON *exec = json_at(user->node, "exec");
    AUTO(json) cJSON *info = describe_cluster(cluster, ret);
    const char *path = user->file->path, *slash = strrchr(path, '/');
    AUTO(mem) char *folder = slash ? mem_strndup(path, (size_t)(slash - path)) : mem_strdup(".");
    struct err why = {0};
    struct exec_plugin *plugin;

    if (!options->may_run_plugins)
        return reject(user, exec, err,
                      "\"exec\" credentials are supported only by the subcommands of ipu-operator; use a "
                      "token (kubectl create token), a token file or a client certificate");
    plugin = exec_plugin_new(exec, folder, info, options->is_personal, &why);
    if (plugin == NULL)
        return reject(user, exec, err, why.msg);
    return credential_files_set_exec_plugin(ret, plugin, err);
}

static bool take_user(const struct place *user, const struct place *cluster,
                      const struct client_config_options *options, struct client_config *ret, struct err *err)
{
    if (!reject_plugins(user, err))
        return false;
    if (json_at(user->node, "exec") != NULL)
        return run_plugin(user, cluster, options, ret, err);
    if (!take_token(user, ret, err))
        return false;
    if (!take_pem(ret, user, "client-certificate", offsetof(struct client_config, cert_pem), &ret->cert_pem,
                  err) ||
        !take_pem(ret, user, "client-key", offsetof(struct client_config, key_pem), &ret->key_pem, err))
        return false;
    if ((ret->cert_pem == NULL) != (ret->key_pem == NULL))
        return reject(user, user->node, err, "client-certificate and client-key must be set together");
    return true;
}

/* The part that a context names ("cluster" of "clusters"), or why not. */
static bool follow(const struct files *files, const struct place *context, const char *list, const char *key,
                   struct place *ret, struct err *err)
{
    const char *name = json_str(context->node, key, "");

    *ret = find(files, list, key, name);
    if (ret->node != NULL)
        return true;
    AUTO(mem) char *what = mem_printf("the context refers to %s \"%s\", which is not defined", key, name);
    return reject(context, context->node, err, what);
}

bool kubeconfig_load(const char *paths, const struct client_config_options *options,
                     struct client_config *ret, struct err *err)
{
    const char *context = options->context;
    AUTO(files) struct files files = {.count = 0};
    struct place chosen, cluster, user;

    if (!read_files(paths, &files, err))
        return false;
    if (context == NULL)
        context = current_context(&files);
    if (context == NULL)
        return err_set(err, ERR_INVALID, "%s: line 1: current-context is not set; use --context",
                       files.items[0].path);
    chosen = find(&files, "contexts", "context", context);
    if (chosen.node == NULL)
        return err_set(err, ERR_INVALID, "%s: line 1: context \"%s\" is not defined", files.items[0].path,
                       context);
    ret->ns = mem_strdup(json_str(chosen.node, "namespace", "default"));
    ret->origin = mem_printf("context %s of %s", context, chosen.file->path);
    return follow(&files, &chosen, "clusters", "cluster", &cluster, err) &&
           follow(&files, &chosen, "users", "user", &user, err) && take_cluster(&cluster, ret, err) &&
           take_user(&user, &cluster, options, ret, err);
}
