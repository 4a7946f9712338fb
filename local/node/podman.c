#include "local/node/podman.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local/node/pod_env.h"
#include "local/node/sandbox.h"
#include "operator/api/job/template_types.h"

static void add_words(struct strv *words, const char *const *list)
{
    for (; *list; list++)
        strv_push(words, *list);
}

/* ---- command lines ---- */

/* Variables that podman itself would read. */
static bool is_of_podman(const char *variable)
{
    static const char *const names[] = {"PATH=",     "HOME=", "TMPDIR=",    "XDG_",
                                        "CONTAINER", "LD_",   "_CONTAINER", "STORAGE_"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_has_prefix(variable, names[i]))
            return true;
    return false;
}

static void add_env(const struct strv *variables, struct strv *env, struct strv *words)
{
    for (size_t i = 0; i < variables->count; i++) {
        const char *variable = variables->items[i], *equals = strchr(variable, '=');
        AUTO(mem) char *name = mem_strndup(variable, (size_t)(equals - variable));

        strv_push(words, "--env");
        if (is_of_podman(variable)) {
            strv_push(words, variable);
            continue;
        }
        strv_push(words, name);
        pod_env_set(env, name, equals + 1);
    }
}

static bool add_mounts(const struct sandbox *mounts, struct strv *words, struct err *err)
{
    for (size_t i = 0; i < mounts->count; i++) {
        const struct sandbox_mount *mount = &mounts->mounts[i];

        if (strchr(mount->source, ':') || strchr(mount->target, ':'))
            return err_set(err, ERR_INVALID, "podman cannot mount %s at %s, because of the colon",
                           mount->source, mount->target);
        strv_push(words, "--volume");
        strv_pushf(words, "%s:%s:%s,rbind", mount->source, mount->target, mount->read_only ? "ro" : "rw");
    }
    return true;
}

/* Of the container, or else of the pod. */
static int64_t security_id(const struct podman_container *container, const char *field)
{
    AUTO(mem) char *own = mem_printf("securityContext/%s", field);
    AUTO(mem) char *of_pod = mem_printf("spec/securityContext/%s", field);

    return json_i64(container->doc, own, json_i64(container->pod, of_pod, -1));
}

static void add_user(const struct podman_container *container, struct strv *words)
{
    int64_t user = security_id(container, "runAsUser"), group = security_id(container, "runAsGroup");

    if (user < 0)
        return;
    strv_push(words, "--user");
    strv_pushf(words, group < 0 ? "%lld" : "%lld:%lld", (long long)user, (long long)group);
}

static void add_limits(const cJSON *container, struct strv *words)
{
    double cpus = quantity_read(json_at(container, "resources/limits/cpu"));
    double memory = quantity_read(json_at(container, "resources/limits/memory"));

    if (cpus > 0)
        strv_pushf(words, "--cpus=%.3f", cpus);
    if (memory > 0)
        strv_pushf(words, "--memory=%.0fb", memory);
}

/* As a list, which is what a pod's command is. */
static void add_entrypoint(const struct strv *command, struct strv *words)
{
    AUTO(json) cJSON *list = json_array();
    AUTO(mem) char *text = NULL;

    for (size_t i = 0; i < command->count; i++)
        json_push_str(list, command->items[i]);
    text = json_print(list);
    strv_push(words, "--entrypoint");
    strv_push(words, text);
}

bool podman_run(const struct podman_container *container, struct strv *env, struct strv *ret_words,
                struct err *err)
{
    static const char *const common[] = {"podman",
                                         "--log-level=error",
                                         "run",
                                         "--rm",
                                         "--replace",
                                         "--pull=never",
                                         "--network",
                                         "host",
                                         "--log-driver=none",
                                         "--security-opt",
                                         "label=disable",
                                         NULL};
    const char *cwd = json_str(container->doc, "workingDir", NULL);

    add_words(ret_words, common);
    add_words(ret_words,
              (const char *const[]){"--name", container->name, "--hostname", container->hostname, NULL});
    if (cwd)
        add_words(ret_words, (const char *const[]){"--workdir", cwd, NULL});
    add_user(container, ret_words);
    add_limits(container->doc, ret_words);
    add_env(container->env, env, ret_words);
    if (!add_mounts(container->mounts, ret_words, err))
        return false;
    if (container->command->count)
        add_entrypoint(container->command, ret_words);
    strv_push(ret_words, json_str(container->doc, "image", ""));
    for (size_t i = 0; i < container->args->count; i++)
        strv_push(ret_words, container->args->items[i]);
    return true;
}

void podman_exec(const char *name, const cJSON *command, struct strv *ret_words)
{
    add_words(ret_words, (const char *const[]){"podman", "exec", name, NULL});
    JSON_EACH (word, command)
        strv_push(ret_words, json_str(word, "", cJSON_GetStringValue(word)));
}

void podman_remove(const char *name, struct strv *ret_words)
{
    add_words(ret_words,
              (const char *const[]){"podman", "rm", "--force", "--time=0", "--ignore", name, NULL});
}

/* ---- images ---- */

/* Its exit status; -1: it cannot be run. */
static int run_podman(struct strv *words, bool is_quiet)
{
    posix_spawn_file_actions_t actions;
    int status = -1, failed;
    pid_t pid;

    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (is_quiet)
        (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    failed = posix_spawnp(&pid, "podman", &actions, NULL, strv_argv(words), environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run_podman_with(const char *const *list, bool is_quiet)
{
    AUTO(strv) struct strv words = {0};

    add_words(&words, list);
    return run_podman(&words, is_quiet);
}

bool podman_is_installed(struct err *err)
{
    return run_podman_with((const char *const[]){"podman", "--version", NULL}, true) == 0 ||
           err_set(
               err, ERR_NOT_FOUND,
               "cannot run podman; install it (on Debian: apt install podman), or leave out --engine podman "
               "to run the programs of this machine");
}

/* k8s.io/kubernetes, pkg/apis/core/v1/defaults.go: always, if the image has the tag latest or none. */
static const char *policy_of(const cJSON *container, const char *image)
{
    const char *name = strrchr(image, '/') ? strrchr(image, '/') : image, *tag = strchr(name, ':');
    bool may_change = !strchr(name, '@') && (!tag || str_eq(tag, ":latest"));

    return json_str(container, "imagePullPolicy", may_change ? "Always" : "IfNotPresent");
}

/* Images of this project are in no registry. */
static char *remedy_of(const char *image)
{
    static const char own[] = "ipu-operator/";
    const char *name = image + strlen(own);

    if (str_has_prefix(image, own))
        return mem_printf("in the folder of this project, load it (podman load --input $(deploy/image build "
                          "%.*s))",
                          (int)strcspn(name, ":@"), name);
    return mem_printf("build it (podman build --tag %s .), or correct its name", image);
}

static bool pull_image(const cJSON *container, struct strv *done, struct err *err)
{
    const char *image = json_str(container, "image", NULL), *policy;

    if (!image || strv_has(done, image))
        return true;
    strv_push(done, image);
    policy = policy_of(container, image);
    if (!str_eq(policy, "Always") &&
        run_podman_with((const char *const[]){"podman", "image", "exists", image, NULL}, true) == 0)
        return true;
    if (str_eq(policy, "Never"))
        return err_set(err, ERR_NOT_FOUND,
                       "the image %s is not on this machine, and its imagePullPolicy is Never", image);
    if (run_podman_with((const char *const[]){"podman", "pull", image, NULL}, false) == 0)
        return true;
    if (str_eq(policy, "Always"))
        return err_set(err, ERR_IO,
                       "cannot pull the image %s, see podman's message above; for one of this machine, set "
                       "imagePullPolicy: IfNotPresent",
                       image);
    AUTO(mem) char *remedy = remedy_of(image);
    return err_set(err, ERR_IO, "cannot pull the image %s, see podman's message above; %s", image, remedy);
}

bool podman_pull_images(const cJSON *job, struct err *err)
{
    static const char *const lists[] = {
        "spec/workers/template/spec/initContainers", "spec/workers/template/spec/containers",
        "spec/launcher/template/spec/initContainers", "spec/launcher/template/spec/containers"};
    AUTO(strv) struct strv done = {0};

    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        JSON_EACH (container, json_at(job, lists[i])) {
            if (!pull_image(container, &done, err))
                return false;
        }
    }
    return true;
}
