#include "local/run/run.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "local/api/in_process.h"
#include "local/node/node.h"
#include "local/run/controller_credentials.h"
#include "local/run/embedded_controller.h"
#include "local/run/progress_endpoint.h"
#include "operator/api/job/job.h"
#include "operator/api/job/job_finished.h"
#include "operator/api/names.h"
#include "operator/kube/auth/config_loader.h"
#include "operator/kube/client/client.h"
#include "operator/kube/events/events.h"
#include "operator/reconcile/reconciler.h"
#include "operator/reconcile/report/progress_board.h"
#include "vipu/server/server.h"

#define OPERATOR_NS "ipu-operator"
#define NODE "localhost"
#define HOSTS_MAX_BYTES ((size_t)1024 * 1024)
/* As the chart's values. */
#define HOLD_MS (300 * 1000)
#define REQUEUE_MS (60 * 1000)
#define PARTITION_FAILURE_MS (30 * 1000)
#define MPI_NETWORK "lo"
/* How long a V-IPU controller may take to remove the partitions of jobs that have no pods any more. */
#define RELEASE_MS (60 * 1000)

struct run_job {
    char *ns, *name, *uid;
    char *shown; /* the last line */
    char *shown_progress;
    cJSON *final; /* as it was at its end, or is now */
    bool is_finished, is_gone;
};

struct run {
    const struct run_options *options;
    struct report report;
    struct loop *loop;
    struct api api;
    struct node node;
    struct server *controller;
    struct pool_config controllers;
    struct client_config identity;
    struct kube *kube;
    struct events *events;
    struct reconciler *reconciler;
    struct progress_endpoint *endpoint;
    struct progress_board *board;
    struct run_job *jobs;
    size_t job_count;
    struct str hosts;
    char address[sizeof("127.255.255.254")];
    struct loop_timer timeout, release, next;
    struct strv owners_gone; /* uids whose objects are to be removed */
    bool is_ending, is_interrupted, is_killed, has_timed_out;
    bool is_suspending; /* and then this process stops itself */
};

/* ---- jobs ---- */

static struct run_job *find_job(const struct run *run, const char *uid)
{
    for (size_t i = 0; i < run->job_count; i++)
        if (str_eq(run->jobs[i].uid, uid))
            return &run->jobs[i];
    return NULL;
}

static bool are_all(const struct run *run, bool is_gone)
{
    for (size_t i = 0; i < run->job_count; i++)
        if (is_gone ? !run->jobs[i].is_gone : !run->jobs[i].is_finished && !run->jobs[i].is_gone)
            return false;
    return true;
}

static void show(struct run *run, struct run_job *job, const cJSON *doc)
{
    const char *state = json_str(doc, "status/launcherStatus", "");
    AUTO(mem) char *message = mem_strdup(json_str(doc, "status/lastMessage", ""));
    AUTO(mem) char *line = mem_printf("%s %s", state, message);

    /* Another field of the job than what resumes it here, which on_suspend has named. */
    if (str_has_suffix(message, SUSPENDED_REMEDY))
        message[strlen(message) - strlen(SUSPENDED_REMEDY)] = '\0';

    if (!*state || str_eq(line, job->shown))
        return;
    mem_set_str(&job->shown, line);
    report_status(&run->report, loop_now_ms(run->loop), job->name, state, message);
}

static void show_progress(struct run *run, struct run_job *job)
{
    const cJSON *status = json_at(job->final, "status");
    const char *summary = json_str(status, "progress/summary", NULL);

    if (!summary || str_eq(summary, job->shown_progress))
        return;
    mem_set_str(&job->shown_progress, summary);
    report_progress(&run->report, loop_now_ms(run->loop), job->name, status);
}

/* What was reported since the last write would be lost with the run. */
static void keep_job(struct run *run, struct run_job *job, const cJSON *doc)
{
    cJSON_Delete(job->final);
    job->final = json_dup(doc);
    job->is_finished = status_is_finished(json_at(doc, "status"));
    if (job->is_finished && run->board)
        progress_board_put(run->board, job->uid, json_at_mut(job->final, "status"));
    show_progress(run, job);
}

static void on_next(struct loop_timer *timer);

static void wake(struct run *run)
{
    loop_timer_start(run->loop, &run->next, 0, on_next);
}

static void saw_job(struct run *run, enum api_change_type type, const struct api_object *object)
{
    struct run_job *job = find_job(run, object->uid);

    if (!job)
        return;
    if (!job->is_finished) {
        keep_job(run, job, object->doc);
        show(run, job, object->doc);
    }
    job->is_gone = type == API_DELETED;
    if (job->is_gone)
        strv_push(&run->owners_gone, object->uid);
    wake(run);
}

static void on_change(void *ctx, enum api_change_type type, const struct api_object *object)
{
    struct run *run = ctx;

    if (str_eq(object->kind->plural, "pods"))
        node_saw(&run->node, type, object);
    else if (str_eq(object->kind->plural, "ipujobs"))
        saw_job(run, type, object);
    if (run->is_ending)
        wake(run);
}

/* ---- the end ---- */

static void delete_owned(struct run *run, const char *plural, const char *uid)
{
    struct map *objects = api_objects(&run->api, plural);
    AUTO(strv) struct strv keys = {0};
    const char *key;
    void *value;

    for (size_t i = 0; map_next(objects, &i, &key, &value);)
        if (str_eq(((struct api_object *)value)->job_uid, uid))
            strv_push(&keys, key);
    for (size_t i = 0; i < keys.count; i++) {
        struct api_object *object = map_get(objects, keys.items[i]);

        if (object)
            api_delete(&run->api, object, -1);
    }
}

/* As the garbage collector of a cluster. */
static void collect(struct run *run)
{
    static const char *const kinds[] = {"pods", "services", "endpointslices", "secrets", "networkpolicies"};
    AUTO(strv) struct strv uids = run->owners_gone;

    run->owners_gone = (struct strv){0};
    for (size_t i = 0; i < uids.count; i++)
        for (size_t k = 0; k < COUNT_OF(kinds); k++)
            delete_owned(run, kinds[k], uids.items[i]);
}

static void on_release_limit(struct loop_timer *timer)
{
    struct run *run = CONTAINER_OF(timer, struct run, release);

    loop_timer_start(run->loop, &run->release, RELEASE_MS, on_release_limit);
    if (node_pod_count(&run->node) > 0)
        return;
    (void)fputs(
        "ipu-run: the V-IPU controller has not removed all partitions of the jobs; it may still have them\n",
        stderr);
    run->is_killed = true;
    wake(run);
}

static void delete_jobs(struct run *run)
{
    run->is_ending = true;
    loop_timer_start(run->loop, &run->release, RELEASE_MS, on_release_limit);
    for (size_t i = 0; i < run->job_count; i++) {
        struct api_object *object = api_find(&run->api, "ipujobs", run->jobs[i].ns, run->jobs[i].name);

        if (object && !run->jobs[i].is_gone)
            api_delete(&run->api, object, -1);
    }
    wake(run);
}

/* ---- suspension ---- */

static void suspend_jobs(struct run *run, bool is_suspended)
{
    run->is_suspending = is_suspended;
    for (size_t i = 0; i < run->job_count; i++) {
        const struct run_job *job = &run->jobs[i];
        AUTO(mem)
        char *url = mem_printf("/apis/" API_GROUP_VERSION "/namespaces/%s/ipujobs/%s", job->ns, job->name);
        struct api_request request = {.method = "PATCH",
                                      .url = url,
                                      .content_type = "application/merge-patch+json",
                                      .body = slice_of(is_suspended ? "{\"spec\":{\"suspend\":true}}"
                                                                    : "{\"spec\":{\"suspend\":false}}")};
        struct api_answer answer = {0};

        if (!job->is_finished && !job->is_gone)
            api_answer(&run->api, &request, &answer);
        mem_free(answer.body);
    }
    wake(run);
}

/* Without pods and partitions: this process can stop, and lets nothing wait for it. */
static bool are_suspended(const struct run *run)
{
    for (size_t i = 0; i < run->job_count; i++) {
        const cJSON *status = json_at(run->jobs[i].final, "status");

        if (!run->jobs[i].is_finished && (!str_eq(json_str(status, "launcherStatus", ""), "Suspended") ||
                                          json_i64(status, "partitionCounts/total", 0) > 0))
            return false;
    }
    return true;
}

/* As of a terminal's Ctrl-Z, after which a shell waits for this process to stop, and sends SIGCONT for `fg`.
 */
static void on_suspend(void *ctx, int signum)
{
    struct run *run = ctx;

    (void)signum;
    if (run->is_ending || run->is_suspending)
        return;
    (void)fprintf(stderr,
                  "ipu-run: suspending the job; resume it with fg, or kill -CONT %d: its program then starts "
                  "again from the beginning\n",
                  (int)getpid());
    suspend_jobs(run, true);
}

static void on_resume(void *ctx, int signum)
{
    struct run *run = ctx;

    (void)signum;
    if (run->is_suspending)
        suspend_jobs(run, false);
}

static void on_next(struct loop_timer *timer)
{
    struct run *run = CONTAINER_OF(timer, struct run, next);

    collect(run);
    if (!run->is_ending && (are_all(run, false) || run->report.is_broken))
        delete_jobs(run);
    else if (!run->is_ending && run->is_suspending && are_suspended(run))
        (void)raise(SIGSTOP);
    else if (run->is_killed || (are_all(run, true) && node_pod_count(&run->node) == 0))
        loop_stop(run->loop);
}

static void on_signal(void *ctx, int signum)
{
    struct run *run = ctx;

    (void)signum;
    if (run->is_interrupted) {
        run->is_killed = true;
        node_kill_all(&run->node);
        wake(run);
        return;
    }
    run->is_interrupted = true;
    if (!run->is_ending)
        (void)fputs("ipu-run: deleting the job; press Ctrl-C again to kill it at once\n", stderr);
    delete_jobs(run);
}

static void on_timeout(struct loop_timer *timer)
{
    struct run *run = CONTAINER_OF(timer, struct run, timeout);
    AUTO(str) struct str limit = {0};

    if (run->is_ending)
        return;
    run->has_timed_out = true;
    str_add_count(&limit, run->options->timeout_s, "second", NULL);
    (void)fprintf(stderr, "ipu-run: deleting the job, which has not ended within %s (--timeout)\n",
                  str_text(&limit));
    delete_jobs(run);
}

/* ---- the node ---- */

static void on_line(void *ctx, const cJSON *pod, const char *container, const struct container_line *line)
{
    struct run *run = ctx;

    report_line(&run->report, pod, container, line);
    if (run->report.is_broken)
        wake(run);
}

static void on_trouble(void *ctx, const char *text)
{
    (void)ctx;
    (void)fprintf(stderr, "ipu-run: %s; this log is incomplete\n", text);
}

static char *make_token(void *ctx, const cJSON *pod)
{
    struct run *run = ctx;

    return progress_endpoint_token(run->endpoint, pod);
}

/* Of this run alone, so that its pods' ports are not those of another run's. */
static void choose_address(struct run *run)
{
    uint32_t random = loop_random_u32();

    (void)snprintf(run->address, sizeof(run->address), "127.%u.%u.%u", 1 + (random & 127), random >> 8 & 255,
                   1 + (random >> 16 & 127));
}

/* In place of the cluster's DNS, which knows the workers of a job by its Service. */
static void add_worker_hosts(struct run *run, const cJSON *doc)
{
    AUTO(job) struct job *job = job_parse(doc);
    AUTO(mem) char *service = job ? name_worker_service(job->name, job->uid) : NULL;

    if (!job || !job_needs_worker_service(&job->spec))
        return;
    for (uint32_t n = 0; n < job->spec.instances * job->spec.workers_per_instance; n++) {
        AUTO(mem) char *host = name_worker_host(job->name, job->uid, n);

        str_addf(&run->hosts, "%s\t%s.%s.%s.svc %s.%s\n", run->address, host, service, job->ns, host,
                 service);
    }
}

static void start_node(struct run *run)
{
    const struct run_options *options = run->options;
    struct err ignored;

    choose_address(run);
    if (!file_read("/etc/hosts", HOSTS_MAX_BYTES, &run->hosts, &ignored))
        str_adds(&run->hosts, "127.0.0.1\tlocalhost\n");
    node_init(&run->node, run->loop, &run->api,
              &(struct node_options){.name = NODE,
                                     .address = run->address,
                                     .hosts = &run->hosts,
                                     .pods_dir = options->dir->pods,
                                     .logs_dir = options->dir->logs,
                                     .launcher_dir = options->dir->launcher,
                                     .work_dir = options->work_dir,
                                     .env = options->env,
                                     .binds = options->binds,
                                     .engine = options->engine,
                                     .on_line = on_line,
                                     .on_trouble = on_trouble,
                                     .token = make_token,
                                     .ctx = run});
}

/* ---- the operator ---- */

static bool on_report(void *ctx, const struct token_pod *pod, struct slice body)
{
    struct run *run = ctx;

    return progress_board_report(run->board, pod, body);
}

static bool may_write(void *ctx)
{
    (void)ctx;
    return true; /* there is no other */
}

static bool start_controller(struct run *run, struct err *err)
{
    AUTO(strv) struct strv problems = {0};
    AUTO(mem) char *own = NULL;

    if (run->options->controller) {
        pool_config_add_text(&run->controllers, run->options->controller, &problems);
        if (problems.count)
            return err_set(err, ERR_INVALID, "--controller: %s", problems.items[0]);
        for (size_t i = 0; i < run->controllers.count; i++)
            if (!controller_credentials_copy(run->options->dir, run->options->environment,
                                             &run->controllers.items[i], err))
                return false;
        return true;
    }
    run->controller = embedded_controller_start(run->loop, run->options->ipus, run->options->dir, err);
    if (!run->controller)
        return false;
    own = mem_printf("127.0.0.1:%u", (unsigned)server_port(run->controller));
    pool_config_add_text(&run->controllers, own, &problems);
    run->controllers.items[0].secret = mem_strdup(CONTROLLER_SECRET);
    return true;
}

static bool start_operator(struct run *run, struct err *err)
{
    run->identity = (struct client_config){.server = mem_strdup("https://in-process"),
                                           .ns = mem_strdup(OPERATOR_NS),
                                           .origin = mem_strdup("this process")};
    run->kube = kube_new(run->loop, &run->identity, &(struct kube_options){.program = "ipu-operator"}, err);
    if (!run->kube)
        return false;
    run->endpoint = progress_endpoint_new(
        run->loop, &(struct progress_endpoint_options){.report = on_report, .ctx = run}, err);
    if (!run->endpoint)
        return false;
    run->events = events_new(run->kube, &(struct events_options){.controller = "graphcore.ai/ipu-operator",
                                                                 .instance = "ipu-run"});
    run->reconciler = reconciler_new(
        run->loop, run->kube, run->events,
        &(struct reconciler_options){.controllers = &run->controllers,
                                     .credentials = run->options->dir->credentials,
                                     .operator_ns = OPERATOR_NS,
                                     .partition_prefix = "p",
                                     .pods = {.launcher_image = "ipu-launch",
                                              .launcher_pull_policy = "IfNotPresent",
                                              .host_network = true,
                                              .mpi_network = MPI_NETWORK,
                                              .progress = progress_endpoint_access(run->endpoint)},
                                     .hold_ms = HOLD_MS,
                                     .requeue_ms = REQUEUE_MS,
                                     .partition_failure_ms = PARTITION_FAILURE_MS,
                                     .is_one_machine = true,
                                     .may_write = may_write,
                                     .ctx = run});
    run->board = progress_board_new(run->reconciler);
    return true;
}

/* ---- objects ---- */

static void create_job(struct run *run, const struct object *object)
{
    const struct api_object *created = api_create(&run->api, "ipujobs", json_dup(object->doc));

    run->jobs = mem_grow(run->jobs, run->job_count + 1, sizeof(*run->jobs));
    run->jobs[run->job_count++] = (struct run_job){.ns = mem_strdup(created->ns),
                                                   .name = mem_strdup(created->name),
                                                   .uid = mem_strdup(created->uid),
                                                   .final = json_dup(created->doc)};
    add_worker_hosts(run, created->doc);
}

static void create_objects(struct run *run)
{
    static const struct {
        const char *kind, *plural;
    } rows[] = {{"ConfigMap", "configmaps"}, {"Secret", "secrets"}, {"PriorityClass", "priorityclasses"}};
    const struct objects *objects = run->options->objects;

    for (size_t r = 0; r < COUNT_OF(rows); r++)
        for (size_t i = 0; i < objects->count; i++)
            if (object_is_kind(&objects->items[i], rows[r].kind))
                (void)api_create(&run->api, rows[r].plural, json_dup(objects->items[i].doc));
    for (size_t i = 0; i < objects->count; i++)
        if (object_is_kind(&objects->items[i], API_KIND))
            create_job(run, &objects->items[i]);
    for (size_t i = 0; run->job_count > 1 && i < run->job_count; i++) {
        int width = (int)strlen(run->jobs[i].name);

        run->report.name_width = width > run->report.name_width ? width : run->report.name_width;
    }
}

/* ---- all of it ---- */

static bool start(struct run *run, struct err *err)
{
    in_process_serve(&run->api);
    run->api.hook = on_change;
    run->api.hook_ctx = run;
    start_node(run);
    if (!start_controller(run, err) || !start_operator(run, err))
        return false;
    create_objects(run);
    loop_on_signal(run->loop, SIGINT, on_signal, run);
    loop_on_signal(run->loop, SIGTERM, on_signal, run);
    loop_on_signal(run->loop, SIGHUP, on_signal, run);
    loop_on_signal(run->loop, SIGTSTP, on_suspend, run);
    loop_on_signal(run->loop, SIGCONT, on_resume, run);
    if (run->options->timeout_s)
        loop_timer_start(run->loop, &run->timeout, (int64_t)run->options->timeout_s * 1000, on_timeout);
    return true;
}

static void finish(struct run *run)
{
    loop_timer_stop(&run->timeout);
    loop_timer_stop(&run->release);
    loop_timer_stop(&run->next);
    progress_endpoint_free(run->endpoint);
    progress_board_free(run->board);
    reconciler_free(run->reconciler);
    if (run->events)
        events_free(run->events);
    if (run->kube)
        kube_free(run->kube);
    server_stop(run->controller);
    run->api.hook = NULL;
    node_release(&run->node);
    api_release(&run->api);
    loop_free(run->loop);
    client_config_release(&run->identity);
    pool_config_release(&run->controllers);
    for (size_t i = 0; i < run->job_count; i++) {
        mem_free(run->jobs[i].ns);
        mem_free(run->jobs[i].name);
        mem_free(run->jobs[i].uid);
        mem_free(run->jobs[i].shown);
        mem_free(run->jobs[i].shown_progress);
        cJSON_Delete(run->jobs[i].final);
    }
    mem_free(run->jobs);
    str_release(&run->hosts);
    strv_release(&run->owners_gone);
}

static enum run_result result_of(const struct run *run)
{
    bool is_good = !run->has_timed_out && !run->report.is_broken;

    for (size_t i = 0; i < run->job_count; i++) {
        const cJSON *completed = status_condition(json_at(run->jobs[i].final, "status"), "Completed");

        is_good = is_good && str_eq(json_str(completed, "status", ""), "True");
    }
    return run->is_interrupted ? RUN_INTERRUPTED : is_good ? RUN_COMPLETED : RUN_FAILED;
}

enum run_result run_jobs(const struct run_options *options, cJSON **ret_final, struct err *err)
{
    struct run run = {.options = options, .report = options->report, .loop = loop_new()};
    enum run_result result = RUN_ERROR;

    api_init(&run.api, run.loop);
    run.report.begun_ms = loop_now_ms(run.loop);
    if (start(&run, err)) {
        loop_run(run.loop);
        result = result_of(&run);
        *ret_final = json_array();
        for (size_t i = 0; i < run.job_count; i++)
            json_push_take(*ret_final, TAKE(run.jobs[i].final));
    }
    finish(&run);
    return result;
}
