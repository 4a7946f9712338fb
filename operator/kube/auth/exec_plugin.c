#include "operator/kube/auth/exec_plugin.h"

#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/io/capture.h"

#define INFO "KUBERNETES_EXEC_INFO"
#define LIMIT_MS 60000
#define PERSON_LIMIT_MS 300000
#define ANSWER_MAX_BYTES ((size_t)1024 * 1024)
#define WORDS_MAX 1000u

struct exec_plugin {
    char *command, *api_version, *install_hint, *request;
    struct strv argv;
    struct strv env; /* NAME=VALUE, in place of what is inherited */
    bool is_interactive;
};

void exec_plugin_free(struct exec_plugin *plugin)
{
    if (!plugin)
        return;
    mem_free(plugin->command);
    mem_free(plugin->api_version);
    mem_free(plugin->install_hint);
    mem_free(plugin->request);
    strv_release(&plugin->argv);
    strv_release(&plugin->env);
    mem_free(plugin);
}

/* ---- from the kubeconfig ---- */

static bool check(const cJSON *exec, bool may_ask, struct err *err)
{
    const char *version = json_str(exec, "apiVersion", ""),
               *mode = json_str(exec, "interactiveMode", "IfAvailable");

    if (!*json_str(exec, "command", ""))
        return err_set(err, ERR_INVALID, "exec.command is required");
    if (!exec_credential_knows_version(version))
        return err_set(err, ERR_INVALID,
                       "exec.apiVersion must be client.authentication.k8s.io/v1 or v1beta1, got \"%s\"",
                       version);
    if (str_eq(mode, "Always") && may_ask && !isatty(STDIN_FILENO))
        return err_set(
            err, ERR_INVALID,
            "exec.interactiveMode is Always, but standard input is no terminal; use a token (kubectl "
            "create token)");
    if (str_eq(mode, "Always") && !may_ask)
        return err_set(err, ERR_INVALID,
                       "exec.interactiveMode Always is not supported: commands never prompt; use a token "
                       "(kubectl create token)");
    if (!str_eq(mode, "Never") && !str_eq(mode, "IfAvailable") && !str_eq(mode, "Always"))
        return err_set(err, ERR_INVALID,
                       "exec.interactiveMode must be Never, IfAvailable or Always, got \"%s\"", mode);
    return true;
}

static bool take_words(const cJSON *exec, struct strv *argv, struct err *err)
{
    JSON_EACH (word, json_at(exec, "args")) {
        if (!cJSON_IsString(word) || argv->count >= WORDS_MAX)
            return err_set(err, ERR_INVALID, "exec.args must be a list of at most %u strings", WORDS_MAX);
        strv_push(argv, word->valuestring);
    }
    return true;
}

static bool take_variables(const cJSON *exec, struct strv *env, struct err *err)
{
    JSON_EACH (item, json_at(exec, "env")) {
        const char *name = json_str(item, "name", "");

        if (!*name || strchr(name, '=') || !json_str(item, "value", NULL) || env->count >= WORDS_MAX)
            return err_set(err, ERR_INVALID, "exec.env must be a list of at most %u names and values",
                           WORDS_MAX);
        strv_pushf(env, "%s=%s", name, json_str(item, "value", ""));
    }
    return true;
}

/* As kubectl finds it: in PATH, or beside the kubeconfig when it is a relative path. */
static char *place(const char *command, const char *folder)
{
    bool is_relative = strchr(command, '/') && command[0] != '/';

    return is_relative ? mem_printf("%s/%s", folder, command) : mem_strdup(command);
}

struct exec_plugin *exec_plugin_new(const cJSON *exec, const char *folder, const cJSON *cluster, bool may_ask,
                                    struct err *err)
{
    struct exec_plugin *plugin = NEW(struct exec_plugin);
    bool wants_cluster = json_bool(exec, "provideClusterInfo", false);
    bool may_prompt = !str_eq(json_str(exec, "interactiveMode", ""), "Never");

    plugin->command = place(json_str(exec, "command", ""), folder);
    plugin->api_version = mem_strdup(json_str(exec, "apiVersion", ""));
    plugin->install_hint = mem_strdup(json_str(exec, "installHint", ""));
    plugin->is_interactive = may_ask && may_prompt && isatty(STDIN_FILENO);
    plugin->request =
        exec_credential_request(plugin->api_version, wants_cluster ? cluster : NULL, plugin->is_interactive);
    strv_push(&plugin->argv, plugin->command);
    if (check(exec, may_ask, err) && take_words(exec, &plugin->argv, err) &&
        take_variables(exec, &plugin->env, err))
        return plugin;
    exec_plugin_free(plugin);
    return NULL;
}

/* ---- a run ---- */

static bool is_set(const struct strv *env, const char *entry)
{
    size_t len = strcspn(entry, "=");

    for (size_t i = 0; i < env->count; i++) {
        if (strncmp(env->items[i], entry, len) == 0 && env->items[i][len] == '=')
            return true;
    }
    return false;
}

static void fill_environment(const struct exec_plugin *plugin, struct strv *env)
{
    for (size_t i = 0; i < plugin->env.count; i++)
        strv_push(env, plugin->env.items[i]);
    strv_pushf(env, INFO "=%s", plugin->request);
    for (char **entry = environ; *entry; entry++) {
        if (!is_set(env, *entry))
            strv_push(env, *entry);
    }
}

/* Hints have several lines. */
static bool hint(const struct exec_plugin *plugin, struct err *err)
{
    AUTO(mem) char *text = mem_strdup(plugin->install_hint), *before = mem_strdup(err->msg);

    for (char *at = text; *at; at++)
        *at = *at == '\n' || *at == '\r' || *at == '\t' ? ' ' : *at;
    return err_set(err, ERR_NOT_FOUND, "%s%s%s", before, *text ? "; " : "", text);
}

bool exec_plugin_run(const struct exec_plugin *plugin, struct exec_credential *ret, struct err *err)
{
    AUTO(str) struct str printed = {.max = 2 * ANSWER_MAX_BYTES};
    AUTO(strv) struct strv env = {0}, argv = {0};
    int status = 0;
    bool good;

    fill_environment(plugin, &env);
    for (size_t i = 0; i < plugin->argv.count; i++)
        strv_push(&argv, plugin->argv.items[i]);
    if (!capture_run(&(struct capture){.program = plugin->command,
                                       .argv = strv_argv(&argv),
                                       .envp = strv_argv(&env),
                                       .keeps_input = plugin->is_interactive,
                                       .limit_ms = plugin->is_interactive ? PERSON_LIMIT_MS : LIMIT_MS,
                                       .max_bytes = ANSWER_MAX_BYTES},
                     &printed, &status, err))
        return err->kind == ERR_NOT_FOUND ? hint(plugin, err) : false;
    if (status == 0)
        good = exec_credential_parse(str_slice(&printed), plugin->api_version, ret, err) ||
               err_wrap(err, "credential plugin %s", plugin->command);
    else
        good =
            err_set(err, ERR_DENIED, "credential plugin %s exited with status %d", plugin->command, status);
    explicit_bzero(printed.ptr, printed.len);
    return good;
}
