#include "local/node/node.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "base/io/loop.h"
#include "local/node/container.h"
#include "local/node/container_log.h"
#include "local/node/pod_dir.h"
#include "local/node/pod_env.h"
#include "local/node/pod_status.h"
#include "local/node/podman.h"
#include "local/node/volumes.h"
#include "operator/api/job/template_types.h"
#include "operator/api/names.h"

#define PROBE_MS 100
#define DEFAULT_GRACE_S 30
#define START_ERROR 128 /* as containerd reports it */
#define TERMINATION_LOG "/dev/termination-log"
#define MESSAGE_MAX_BYTES 4096

struct node_container {
    struct node_pod *pod;
    const cJSON *doc;
    struct container_view view;
    char *reason, *message; /* of the view */
    struct container *running;
    struct container_log log;
    struct loop_timer probe, restart;
    unsigned ends;              /* in a row, of a sidecar */
    const cJSON *probe_command; /* NULL: it is ready when it runs */
};

struct node_pod {
    struct node *node;
    char *uid, *ns, *name, *dir;
    cJSON *doc; /* as it was created; only its deadline can change */
    struct node_container *containers;
    size_t count;
    int64_t started_s;
    bool is_stopping, is_deleted;
    char *reason, *message; /* of the pod as a whole */
    struct loop_timer next, deadline, grace;
};

static void advance(struct node_pod *pod);

static int64_t now_s(void)
{
    return loop_unix_micros() / 1000000;
}

/* ---- the object ---- */

static struct api_object *object_of(const struct node_pod *pod)
{
    struct api_object *object = api_find(pod->node->api, "pods", pod->ns, pod->name);

    return object && str_eq(object->uid, pod->uid) ? object : NULL;
}

static bool is_running(const struct node_pod *pod)
{
    for (size_t i = 0; i < pod->count; i++)
        if (pod->containers[i].view.state == CONTAINER_RUNNING)
            return true;
    return false;
}

/* A main container has ended or been given up on for each; or an init container has failed. */
static bool has_finished(const struct node_pod *pod)
{
    bool are_all_over = true;

    for (size_t i = 0; i < pod->count; i++) {
        const struct container_view *view = &pod->containers[i].view;

        if (view->role == CONTAINER_INIT && view->state == CONTAINER_ENDED && view->exit_code)
            return true;
        if (view->role == CONTAINER_MAIN && view->state != CONTAINER_ENDED)
            are_all_over = false;
    }
    return are_all_over || pod->is_stopping;
}

static void publish(struct node_pod *pod)
{
    struct api_object *object = object_of(pod);
    struct container_view *views = mem_alloc((pod->count + 1) * sizeof(*views));

    for (size_t i = 0; i < pod->count; i++) {
        views[i] = pod->containers[i].view;
        views[i].reason = pod->containers[i].reason;
        views[i].message = pod->containers[i].message;
    }
    if (object) {
        pod_status_put(object->doc,
                       &(struct pod_view){.containers = views,
                                          .count = pod->count,
                                          .address = pod->node->options.address,
                                          .started_s = pod->started_s,
                                          .is_over = has_finished(pod) && !is_running(pod),
                                          .reason = pod->reason,
                                          .message = pod->message},
                       now_s());
        api_changed(pod->node->api, object);
    }
    mem_free(views);
}

/* ---- one container ---- */

static void on_line(void *ctx, const struct container_line *line)
{
    const struct node_container *c = ctx;
    const struct node_options *options = &c->pod->node->options;

    options->on_line(options->ctx, c->pod->doc, c->view.name, line);
}

static void on_output(void *ctx, bool is_error, const char *bytes, size_t len)
{
    struct node_container *c = ctx;
    const struct node_options *options = &c->pod->node->options;
    struct err err;

    if (!container_log_add(&c->log, is_error, bytes, len, on_line, c, &err))
        options->on_trouble(options->ctx, err.msg);
}

static char *termination_file(const struct node_container *c)
{
    return mem_printf("%s.termination", c->view.name);
}

/* As kubernetes/kubernetes, pkg/kubelet/kuberuntime/kuberuntime_container.go, getTerminationMessage. */
static char *termination_message(const struct node_container *c)
{
    AUTO(mem) char *file = termination_file(c);
    AUTO(mem) char *path = mem_printf("%s/%s", c->pod->dir, file);
    AUTO(str) struct str text = {0};
    struct err err;
    bool falls_back = str_eq(json_str(c->doc, "terminationMessagePolicy", ""), "FallbackToLogsOnError");

    if (file_read(path, MESSAGE_MAX_BYTES, &text, &err) && text.len)
        return str_take(&text);
    return falls_back && c->view.exit_code ? container_log_tail(&c->log) : NULL;
}

static const char *reason_of(const struct container_end *end)
{
    if (end->error)
        return "StartError";
    if (end->exit_code == 0)
        return "Completed";
    return end->is_oom_killed ? "OOMKilled" : "Error";
}

static void restart_later(struct node_container *c);

static void on_ended(void *ctx, const struct container_end *end)
{
    struct node_container *c = ctx;

    loop_timer_stop(&c->probe);
    c->view.state = CONTAINER_ENDED;
    c->view.is_ready = false;
    c->view.exit_code = end->exit_code;
    c->view.finished_s = now_s();
    mem_set_str(&c->reason, reason_of(end));
    mem_free(c->message);
    c->message = end->error ? mem_strdup(end->error) : termination_message(c);
    if (c->view.role == CONTAINER_SIDECAR && !has_finished(c->pod))
        restart_later(c);
    advance(c->pod);
}

static void on_probe_timer(struct loop_timer *timer)
{
    container_probe(CONTAINER_OF(timer, struct node_container, probe)->running);
}

static void on_probed(void *ctx, bool is_good)
{
    struct node_container *c = ctx;

    if (c->view.state != CONTAINER_RUNNING)
        return;
    if (!is_good) {
        loop_timer_start(c->pod->node->loop, &c->probe, PROBE_MS, on_probe_timer);
        return;
    }
    c->view.is_ready = true;
    publish(c->pod);
}

static const cJSON *find_source(void *ctx, const char *plural, const char *ns, const char *name)
{
    const struct node *node = ctx;
    const struct api_object *object = api_find(node->api, plural, ns, name);

    return object ? object->doc : NULL;
}

static char *make_token(void *ctx, const cJSON *pod)
{
    const struct node *node = ctx;

    return node->options.token(node->options.ctx, pod);
}

static struct pod_source source_of(struct node *node)
{
    return (struct pod_source){.find = find_source, .token = make_token, .ctx = node};
}

/* An own /etc/hosts and termination log, unless the template mounts something there. */
static void add_own_mounts(const struct node_container *c, struct sandbox *sandbox)
{
    AUTO(mem) char *hosts = mem_printf("%s/hosts", c->pod->dir);
    AUTO(mem) char *file = termination_file(c);
    AUTO(mem) char *termination = mem_printf("%s/%s", c->pod->dir, file);
    const char *log = json_str(c->doc, "terminationMessagePath", TERMINATION_LOG);
    struct err err;
    bool has_hosts = false;

    JSON_EACH (mount, json_at(c->doc, "volumeMounts"))
        has_hosts = has_hosts || str_eq(json_str(mount, "mountPath", ""), "/etc/hosts");
    if (!has_hosts)
        sandbox_add(sandbox, hosts, "/etc/hosts", false);
    if (pod_dir_put_file(c->pod->dir, file, (struct slice){"", 0}, &err) && pod_dir_share(termination, &err))
        sandbox_add(sandbox, termination, log, false);
}

static bool make_sandbox(const struct node_container *c, const struct strv *env, struct sandbox *ret,
                         struct err *err)
{
    const struct node_pod *pod = c->pod;
    const struct node_options *options = &pod->node->options;

    ret->root = mem_printf("%s/root", pod->dir);
    ret->hostname = mem_strdup(pod_dir_hostname(pod->doc));
    add_own_mounts(c, ret);
    for (size_t i = 0; i < options->binds->count; i++)
        sandbox_add(ret, options->binds->mounts[i].source, options->binds->mounts[i].target,
                    options->binds->mounts[i].read_only);
    return volumes_mount(pod->doc, c->doc, env, pod->dir, options->launcher_dir, ret, err);
}

/* What a container runs, with its own variables. */
struct launch {
    struct sandbox sandbox;
    struct strv env, command, args;
};

static void launch_release(struct launch *launch)
{
    sandbox_release(&launch->sandbox);
    strv_release(&launch->env);
    strv_release(&launch->command);
    strv_release(&launch->args);
}
DEFINE_AUTO(launch);

static uint64_t memory_limit(const cJSON *container)
{
    double bytes = quantity_read(json_at(container, "resources/limits/memory"));

    return bytes >= 1 && bytes < 0x1p62 ? (uint64_t)bytes : 0;
}

static bool start_process(struct node_container *c, const struct launch *launch, struct err *err)
{
    const struct node_options *options = &c->pod->node->options;
    const struct container_events events = {on_output, on_probed, on_ended, c};
    AUTO(strv) struct strv words = {0}, probe = {0};

    strv_push_all(&words, &launch->command);
    strv_push_all(&words, &launch->args);
    JSON_EACH (word, c->probe_command)
        strv_push(&probe, json_str(word, "", cJSON_GetStringValue(word)));
    c->running =
        container_start(c->pod->node->loop,
                        &(struct container_spec){.argv = strv_argv(&words),
                                                 .envp = launch->env.items,
                                                 .cwd = json_str(c->doc, "workingDir", options->work_dir),
                                                 .sandbox = &launch->sandbox,
                                                 .memory_bytes = memory_limit(c->doc),
                                                 .probe = strv_argv(&probe)},
                        &events, err);
    return c->running != NULL;
}

static bool start_podman(struct node_container *c, const struct launch *launch, struct err *err)
{
    const struct node_options *options = &c->pod->node->options;
    const struct container_events events = {on_output, on_probed, on_ended, c};
    /* Of this process, as two runs know the same pods. */
    AUTO(mem) char *name = mem_printf("ipu-run-%d-%s-%s", (int)getpid(), c->pod->uid, c->view.name);
    AUTO(strv) struct strv words = {0}, env = {0}, probe = {0}, remove = {0};
    const struct podman_container container = {.name = name,
                                               .pod = c->pod->doc,
                                               .doc = c->doc,
                                               .hostname = pod_dir_hostname(c->pod->doc),
                                               .env = &launch->env,
                                               .command = &launch->command,
                                               .args = &launch->args,
                                               .mounts = &launch->sandbox};

    strv_push_all(&env, options->env);
    if (!podman_run(&container, &env, &words, err))
        return false;
    podman_exec(name, c->probe_command, &probe);
    podman_remove(name, &remove);
    c->running = container_start(c->pod->node->loop,
                                 &(struct container_spec){.argv = strv_argv(&words),
                                                          .envp = strv_argv(&env),
                                                          .cwd = options->work_dir,
                                                          .probe = strv_argv(&probe),
                                                          .remove = strv_argv(&remove)},
                                 &events, err);
    return c->running != NULL;
}

static bool run_container(struct node_container *c, struct err *err)
{
    const struct node_options *options = &c->pod->node->options;
    const struct pod_source source = source_of(c->pod->node);
    AUTO(launch) struct launch launch = {0};
    AUTO(mem) char *log = mem_printf("%s/%s.%s.log", options->logs_dir, c->pod->name, c->view.name);

    if (options->engine == ENGINE_PROCESS) {
        strv_push_all(&launch.env, options->env);
        pod_env_set(&launch.env, "HOSTNAME", pod_dir_hostname(c->pod->doc));
    }
    if (!pod_env_make(c->pod->doc, c->doc, &source, &launch.env, err) ||
        !make_sandbox(c, &launch.env, &launch.sandbox, err) || !container_log_open(&c->log, log, err))
        return false;
    pod_env_add_words(&launch.env, json_at(c->doc, "command"), &launch.command);
    pod_env_add_words(&launch.env, json_at(c->doc, "args"), &launch.args);
    return options->engine == ENGINE_PODMAN ? start_podman(c, &launch, err) : start_process(c, &launch, err);
}

static void on_again(struct loop_timer *timer)
{
    advance(CONTAINER_OF(timer, struct node_pod, next));
}

/* A kubelet would try again, but here nobody changes what is wrong. */
static void give_up(struct node_container *c, const char *why)
{
    c->view.state = CONTAINER_ENDED;
    c->view.exit_code = START_ERROR;
    c->view.started_s = c->view.finished_s = now_s();
    mem_set_str(&c->reason, "StartError");
    mem_set_str(&c->message, why);
    loop_timer_start(c->pod->node->loop, &c->pod->next, 0, on_again);
}

static void start_container(struct node_container *c)
{
    struct err err;

    if (!run_container(c, &err)) {
        give_up(c, err.msg);
        return;
    }
    c->view.state = CONTAINER_RUNNING;
    c->view.started_s = now_s();
    c->view.is_ready = !c->probe_command;
    mem_set_str(&c->reason, NULL);
    mem_set_str(&c->message, NULL);
    if (c->probe_command)
        loop_timer_start(c->pod->node->loop, &c->probe, 0, on_probe_timer);
}

/* Not from inside the container's callback, which touches it again. */
static void on_restart(struct loop_timer *timer)
{
    struct node_container *c = CONTAINER_OF(timer, struct node_container, restart);

    if (has_finished(c->pod))
        return;
    container_free(TAKE(c->running));
    container_log_release(&c->log);
    c->view.restarts++;
    start_container(c);
    publish(c->pod);
}

static void restart_later(struct node_container *c)
{
    c->ends = c->view.finished_s - c->view.started_s >= RESTART_RESET_S ? 1 : c->ends + 1;
    loop_timer_start(c->pod->node->loop, &c->restart, pod_restart_delay_s(c->ends) * 1000, on_restart);
}

/* ---- the pod ---- */

static void on_grace_over(struct loop_timer *timer)
{
    struct node_pod *pod = CONTAINER_OF(timer, struct node_pod, grace);

    for (size_t i = 0; i < pod->count; i++)
        if (pod->containers[i].view.state == CONTAINER_RUNNING)
            container_kill(pod->containers[i].running);
}

static int64_t grace_of(const struct node_pod *pod)
{
    return json_i64(pod->doc, "spec/terminationGracePeriodSeconds", DEFAULT_GRACE_S);
}

/* All containers that run, or its sidecars; once. */
static void terminate(struct node_pod *pod, bool sidecars_only, int64_t grace_s)
{
    if (loop_timer_is_running(&pod->grace))
        return;
    for (size_t i = 0; i < pod->count; i++) {
        struct node_container *c = &pod->containers[i];

        if (c->view.state == CONTAINER_RUNNING && (!sidecars_only || c->view.role == CONTAINER_SIDECAR))
            container_terminate(c->running);
    }
    loop_timer_start(pod->node->loop, &pod->grace, grace_s * 1000, on_grace_over);
}

static void pod_free(struct node_pod *pod)
{
    loop_timer_stop(&pod->next);
    loop_timer_stop(&pod->deadline);
    loop_timer_stop(&pod->grace);
    for (size_t i = 0; i < pod->count; i++) {
        struct node_container *c = &pod->containers[i];

        loop_timer_stop(&c->probe);
        loop_timer_stop(&c->restart);
        container_free(c->running);
        container_log_release(&c->log);
        mem_free(c->reason);
        mem_free(c->message);
    }
    pod_dir_remove(pod->dir);
    cJSON_Delete(pod->doc);
    mem_free(pod->containers);
    mem_free(pod->uid);
    mem_free(pod->ns);
    mem_free(pod->name);
    mem_free(pod->dir);
    mem_free(pod->reason);
    mem_free(pod->message);
    mem_free(pod);
}

/* Not from inside a container's callback, which touches the container again. */
static void on_forget(struct loop_timer *timer)
{
    struct node_pod *pod = CONTAINER_OF(timer, struct node_pod, next);
    struct api_object *object = object_of(pod);

    map_remove(&pod->node->pods, pod->uid);
    if (object && pod->is_deleted)
        api_remove(pod->node->api, object);
    pod_free(pod);
}

static bool start_next_init(struct node_pod *pod)
{
    for (size_t i = 0; i < pod->count; i++) {
        struct node_container *c = &pod->containers[i];

        if (c->view.role == CONTAINER_MAIN)
            return false;
        if (c->view.state == CONTAINER_WAITING) {
            start_container(c);
            if (c->view.role == CONTAINER_INIT)
                return true;
        } else if (c->view.role == CONTAINER_INIT && c->view.state == CONTAINER_RUNNING) {
            return true;
        }
    }
    return false;
}

static void start_main(struct node_pod *pod)
{
    for (size_t i = 0; i < pod->count; i++)
        if (pod->containers[i].view.role == CONTAINER_MAIN &&
            pod->containers[i].view.state == CONTAINER_WAITING)
            start_container(&pod->containers[i]);
}

/* A container has ended, or the pod begins. */
static void advance(struct node_pod *pod)
{
    if (!has_finished(pod)) {
        if (!start_next_init(pod))
            start_main(pod);
    } else if (is_running(pod)) {
        terminate(pod, !pod->is_stopping, grace_of(pod));
    } else {
        loop_timer_stop(&pod->deadline);
        loop_timer_stop(&pod->grace);
    }
    publish(pod);
    if (has_finished(pod) && !is_running(pod) && pod->is_deleted)
        loop_timer_start(pod->node->loop, &pod->next, 0, on_forget);
}

static void stop(struct node_pod *pod, int64_t grace_s)
{
    pod->is_stopping = true;
    if (!is_running(pod))
        advance(pod);
    else if (grace_s > 0)
        terminate(pod, false, grace_s);
    else
        loop_timer_start(pod->node->loop, &pod->grace, 0, on_grace_over);
}

/* kubernetes/kubernetes, pkg/kubelet/active_deadline.go. */
static void on_deadline(struct loop_timer *timer)
{
    struct node_pod *pod = CONTAINER_OF(timer, struct node_pod, deadline);

    mem_set_str(&pod->reason, "DeadlineExceeded");
    mem_set_str(&pod->message, "Pod was active on the node longer than the specified deadline");
    stop(pod, grace_of(pod));
}

static void limit(struct node_pod *pod, const cJSON *doc)
{
    int64_t allowed_s = json_i64(doc, "spec/activeDeadlineSeconds", -1);
    int64_t left_s = pod->started_s + allowed_s - now_s();

    if (allowed_s >= 0 && pod->started_s && !pod->is_stopping && !(has_finished(pod) && !is_running(pod)))
        loop_timer_start(pod->node->loop, &pod->deadline, left_s > 0 ? left_s * 1000 : 0, on_deadline);
}

static bool make_dirs(struct node_pod *pod, struct err *err)
{
    const struct node_options *options = &pod->node->options;
    const struct pod_source source = source_of(pod->node);

    return pod_dir_make(pod->dir, pod->doc, options->address, str_text(options->hosts), err) &&
           volumes_make(pod->doc, &source, pod->dir, err) && pod_dir_share_hosts(pod->dir, pod->doc, err);
}

static void on_begin(struct loop_timer *timer)
{
    struct node_pod *pod = CONTAINER_OF(timer, struct node_pod, next);
    struct api_object *object = object_of(pod);
    struct err err;

    json_put_str(json_at_mut(object->doc, "spec"), "nodeName", pod->node->options.name);
    json_put_str(json_at_mut(pod->doc, "spec"), "nodeName", pod->node->options.name);
    json_put_str(json_at_mut(pod->doc, "status"), "podIP", pod->node->options.address);
    json_put_str(json_at_mut(pod->doc, "status"), "hostIP", pod->node->options.address);
    pod->started_s = now_s();
    if (make_dirs(pod, &err)) {
        advance(pod);
        limit(pod, object->doc);
        return;
    }
    for (size_t i = 0; i < pod->count; i++)
        give_up(&pod->containers[i], err.msg);
}

/* Other probes are taken as passed. */
static const cJSON *probe_of(const cJSON *container)
{
    const cJSON *startup = json_at(container, "startupProbe/exec/command");

    return startup ? startup : json_at(container, "readinessProbe/exec/command");
}

static void add_containers(struct node_pod *pod, const char *list, bool is_init)
{
    JSON_EACH (doc, json_at(pod->doc, list)) {
        struct node_container *c = &pod->containers[pod->count++];
        bool is_sidecar = is_init && str_eq(json_str(doc, "restartPolicy", ""), "Always");

        *c = (struct node_container){.pod = pod,
                                     .doc = doc,
                                     .view = {.name = json_str(doc, "name", ""),
                                              .image = json_str(doc, "image", NULL),
                                              .role = is_sidecar ? CONTAINER_SIDECAR
                                                      : is_init  ? CONTAINER_INIT
                                                                 : CONTAINER_MAIN},
                                     .log = {.fd = -1},
                                     .probe_command = probe_of(doc)};
        /* What it would copy is in the node's own directory. */
        if (is_init && str_eq(c->view.name, NAME_LAUNCHER_PART)) {
            c->view.state = CONTAINER_ENDED;
            c->view.started_s = c->view.finished_s = now_s();
            mem_set_str(&c->reason, "Completed");
        }
    }
}

static void pod_new(struct node *node, const struct api_object *object)
{
    struct node_pod *pod = NEW(struct node_pod);
    int most = cJSON_GetArraySize(json_at(object->doc, "spec/containers")) +
               cJSON_GetArraySize(json_at(object->doc, "spec/initContainers"));

    pod->node = node;
    pod->uid = mem_strdup(object->uid);
    pod->ns = mem_strdup(object->ns);
    pod->name = mem_strdup(object->name);
    pod->dir = mem_printf("%s/%s.%s", node->options.pods_dir, object->name, object->uid);
    pod->doc = json_dup(object->doc);
    pod->containers = mem_alloc(((size_t)most + 1) * sizeof(*pod->containers));
    add_containers(pod, "spec/initContainers", true);
    add_containers(pod, "spec/containers", false);
    map_set(&node->pods, pod->uid, pod);
    loop_timer_start(node->loop, &pod->next, 0, on_begin);
}

/* The object has gone, so that nothing more of it is reported. */
static void lose(struct node_pod *pod)
{
    map_remove(&pod->node->pods, pod->uid);
    pod_free(pod);
}

void node_saw(struct node *node, enum api_change_type type, const struct api_object *object)
{
    struct node_pod *pod = map_get(&node->pods, object->uid);

    if (type == API_ADDED) {
        pod_new(node, object);
    } else if (pod && type == API_DELETED) {
        lose(pod);
    } else if (pod && json_at(object->doc, "metadata/deletionTimestamp") && !pod->is_deleted) {
        pod->is_deleted = true;
        stop(pod, json_i64(object->doc, "metadata/deletionGracePeriodSeconds", DEFAULT_GRACE_S));
    } else if (pod) {
        limit(pod, object->doc); /* which may have been lowered */
    }
}

void node_kill_all(struct node *node)
{
    void *value;

    for (size_t i = 0; map_next(&node->pods, &i, NULL, &value);)
        on_grace_over(&((struct node_pod *)value)->grace);
}

size_t node_pod_count(const struct node *node)
{
    return node->pods.count;
}

void node_init(struct node *node, struct loop *loop, struct api *api, const struct node_options *options)
{
    cJSON *doc = json_object();
    cJSON *info;

    *node = (struct node){.loop = loop, .api = api, .options = *options};
    json_put_str(doc, "apiVersion", "v1");
    json_put_str(doc, "kind", "Node");
    json_put_str(json_put_object(doc, "metadata"), "name", options->name);
    json_put_object(doc, "spec");
    info = json_put_object(json_put_object(doc, "status"), "nodeInfo");
    json_put_str(info, "bootID", "1");
    api_create(api, "nodes", doc);
}

void node_release(struct node *node)
{
    void *value;

    for (size_t i = 0; map_next(&node->pods, &i, NULL, &value);)
        pod_free(value);
    map_release(&node->pods);
}
