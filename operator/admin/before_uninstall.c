#include "operator/admin/before_uninstall.h"

#include <stdio.h>

#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/io/loop.h"
#include "operator/admin/fence.h"
#include "operator/admin/subcommand.h"
#include "operator/api/partition/uninstall_check.h"
#include "operator/api/names.h"
#include "operator/kube/client/client.h"
#include "operator/kube/watch/watch.h"

enum { NAMED_MAX = 10, AGAIN_MS = 500 };

struct settings {
    struct subcommand_access access;
    char *ns, *watch_ns, *drain_configmap, *lease, *test_pod;
    bool drain;
    uint32_t seconds;
};

#define AT(field) offsetof(struct settings, field)

static const struct opt ROWS[] = {
    OPT_SWITCH("drain", AT(drain), "Suspend jobs that use or wait for IPUs instead of failing",
               .fallback = "false"),
    OPT_VALUE("drain-asked-by", OPT_STR, AT(drain_configmap), "NAME",
              "ConfigMap in the operator's namespace whose annotation " ANNOTATION_DRAIN
              "=true enables --drain. The lease is deleted with it"),
    OPT_VALUE("seconds", OPT_U32, AT(seconds), "SECONDS", "Seconds to wait for jobs to stop",
              .fallback = "240", .min = 1, .max = 86400),
    OPT_VALUE("namespace", OPT_STR, AT(ns), "NAME", "Namespace of the operator", .fallback = "ipu-operator"),
    OPT_VALUE("lease-name", OPT_STR, AT(lease), "NAME",
              "Name of the leader election Lease, which is acquired before the final check and then expires",
              .fallback = "ipu-operator"),
    OPT_VALUE("test-pod", OPT_STR, AT(test_pod), "NAME",
              "Pod of `helm test` in the operator's namespace, which is deleted at the end; default: none"),
    OPT_VALUE("watch-namespace", OPT_STR, AT(watch_ns), "NAME",
              "Check only the jobs of this namespace; default: all namespaces"),
    SUBCOMMAND_ACCESS_ROWS,
    {0},
};

static const struct opts_spec SPEC = {
    .program = "ipu-operator before-uninstall",
    .usage = "ipu-operator before-uninstall [options]",
    .about = "Prepares an uninstall of the operator. Fails while IPUJobs use or wait for IPUs. On "
             "success, removes the operator's finalizer from all jobs, acquires its lease so that "
             "it starts nothing more, and exits with status 0.",
    .rows = ROWS,
};

struct uninstall {
    const struct settings *settings;
    struct loop *loop;
    struct kube *kube;
    bool drain;
    struct watch *jobs, *records; /* NULL at first */
    char *owner_uid;              /* of the ConfigMap; NULL: there is none */
    struct fence fence;
    struct loop_timer check_timer, deadline;
    struct map patched; /* uid -> the resource version that the last request was about, owned */
    bool is_ready;      /* nothing is checked any more */
    int exit_code;
};

static void finish(struct uninstall *p, int exit_code)
{
    p->exit_code = exit_code;
    loop_stop(p->loop);
}

/* ---- requests ---- */

static void fail_with_response(struct uninstall *p, const struct kube_response *res)
{
    (void)fprintf(stderr, "ipu-operator: %s\n", res->message[0] ? res->message : res->err.msg);
    finish(p, SUBCOMMAND_FAILED);
}

static void on_patched(void *ctx, struct kube_response *res)
{
    struct uninstall *p = ctx;

    if (res->err.kind != ERR_NONE && res->http_status != 404 && res->http_status != 409)
        fail_with_response(p, res);
}

/* Once per version of the job; its watch shows the result. */
static void patch(struct uninstall *p, const struct job *job, const cJSON *body)
{
    const char *patched = map_get(&p->patched, job->uid);

    if (patched && str_eq(patched, job->resource_version))
        return;
    mem_free(map_remove(&p->patched, job->uid));
    map_set(&p->patched, job->uid, mem_strdup(job->resource_version));
    kube_send(p->kube,
              &(struct kube_request){.method = "PATCH",
                                     .resource = &KUBE_IPUJOBS,
                                     .ns = job->ns,
                                     .name = job->name,
                                     .body = body,
                                     .content_type = KUBE_MERGE_PATCH},
              on_patched, p);
}

static cJSON *patch_of(const struct job *job)
{
    cJSON *body = json_object(), *metadata = json_put_object(body, "metadata");

    json_put_str(metadata, "uid", job->uid);
    json_put_str(metadata, "resourceVersion", job->resource_version);
    return body;
}

static void suspend(struct uninstall *p, const struct job *job)
{
    AUTO(json) cJSON *body = patch_of(job);

    json_put_bool(json_put_object(body, "spec"), "suspend", true);
    patch(p, job, body);
}

static void drop_finalizer(struct uninstall *p, const struct job *job)
{
    AUTO(json) cJSON *body = patch_of(job);
    cJSON *kept = json_put_array(json_at_mut(body, "metadata"), "finalizers");

    if (job->has_many_finalizers) /* the list would lose those that are not known */
        return;
    for (size_t i = 0; i < job->finalizers.count; i++) {
        if (!str_eq(job->finalizers.items[i], API_FINALIZER))
            json_push_str(kept, job->finalizers.items[i]);
    }
    if (job->operator_ns)
        json_put_take(json_put_object(json_at_mut(body, "metadata"), "annotations"), ANNOTATION_OPERATOR,
                      cJSON_CreateNull());
    patch(p, job, body);
}

/* ---- looking ---- */

static void on_check(struct loop_timer *timer);
static void on_deadline(struct loop_timer *timer);

static void append_more(size_t count, struct str *out)
{
    if (count > NAMED_MAX)
        str_addf(out, " and %zu more", count - NAMED_MAX);
}

/* The jobs of these kinds, the first of them by name; their number. */
static size_t name_jobs(const struct uninstall *p, enum uninstall_check from, struct str *out)
{
    size_t count = 0;

    for (const struct store_item *i = store_first(watch_store(p->jobs)); i; i = store_next(i)) {
        if (uninstall_check_job(i->view, p->settings->ns) < from || ++count > NAMED_MAX)
            continue;
        AUTO(mem) char *text = uninstall_describe_job(i->view);

        str_addf(out, "%s%s", count > 1 ? ", " : "", text);
    }
    append_more(count, out);
    return count;
}

/* Likewise the partitions that belong to no job of this operator. */
static size_t name_partitions(const struct uninstall *p, enum uninstall_check from, struct str *out)
{
    size_t count = 0;

    for (const struct store_item *i = store_first(watch_store(p->records)); i; i = store_next(i)) {
        const struct record *record = i->view;
        const struct job *job = store_view(watch_store(p->jobs), record->job_ns, record->job_name);

        if (uninstall_check_record(record, job, p->settings->ns) < from || ++count > NAMED_MAX)
            continue;
        AUTO(mem) char *text = uninstall_describe_record(record);

        str_addf(out, "%s%s", count > 1 ? ", " : "", text);
    }
    append_more(count, out);
    return count;
}

static void report_blocking_jobs(const struct uninstall *p, size_t count, const char *names)
{
    (void)fprintf(stderr,
                  "ipu-operator: cannot uninstall: %zu %s using or waiting for IPUs: %s; delete or suspend "
                  "%s, then uninstall again",
                  count, count == 1 ? "IPUJob" : "IPUJobs", names, count == 1 ? "it" : "them");
    if (p->settings->drain_configmap)
        (void)fprintf(stderr,
                      "; to suspend all of them, run: kubectl -n %s annotate configmap %s " ANNOTATION_DRAIN
                      "=true",
                      p->settings->ns, p->settings->drain_configmap);
    (void)fputc('\n', stderr);
}

/* A job of the vendor's operator that has adopted a partition cannot be suspended. */
static bool report_blockers(const struct uninstall *p)
{
    AUTO(str) struct str jobs = {0}, partitions = {0};
    size_t live = p->drain ? 0 : name_jobs(p, UNINSTALL_BLOCKED, &jobs);
    size_t adopted = name_partitions(p, UNINSTALL_BLOCKED, &partitions);

    if (live)
        report_blocking_jobs(p, live, str_text(&jobs));
    if (adopted)
        (void)fprintf(stderr,
                      "ipu-operator: cannot uninstall: partitions held for IPUJobs of the vendor's operator, "
                      "which cannot "
                      "be suspended: %s; delete these IPUJobs, then uninstall again\n",
                      str_text(&partitions));
    return live || adopted;
}

static void report_ready(struct uninstall *p)
{
    int done = puts("Ready to uninstall: no IPUJob depends on the operator.");

    finish(p, done < 0 ? SUBCOMMAND_FAILED : SUBCOMMAND_OK);
}

/* A leftover does not keep a release. */
static void on_test_pod_deleted(void *ctx, struct kube_response *res)
{
    struct uninstall *p = ctx;

    if (res->err.kind != ERR_NONE && res->http_status != 404)
        (void)fprintf(stderr,
                      "ipu-operator: cannot delete pod %s: %s; delete it with kubectl -n %s delete pod %s\n",
                      p->settings->test_pod, res->message[0] ? res->message : res->err.msg, p->settings->ns,
                      p->settings->test_pod);
    report_ready(p);
}

static void finish_ready(struct uninstall *p)
{
    p->is_ready = true;
    loop_timer_stop(&p->deadline);
    if (p->settings->test_pod)
        kube_send(p->kube,
                  &(struct kube_request){.method = "DELETE",
                                         .resource = &KUBE_PODS,
                                         .ns = p->settings->ns,
                                         .name = p->settings->test_pod},
                  on_test_pod_deleted, p);
    else
        report_ready(p);
}

static void start_deadline(struct uninstall *p)
{
    loop_timer_start(p->loop, &p->deadline, (int64_t)p->settings->seconds * 1000, on_deadline);
}

/* All jobs are ready. They stay so once no operator leads, which the fence enforces. */
static void raise_fence_or_finish(struct uninstall *p)
{
    if (p->fence.state == FENCE_RENEWED) {
        finish_ready(p);
        return;
    }
    loop_timer_stop(&p->deadline);
    fence_raise(&p->fence);
}

/* Work was started while the fence was raised: the next leader has to finish it. */
static void lower_fence(struct uninstall *p)
{
    if (p->fence.state == FENCE_DOWN)
        return;
    fence_give_up(&p->fence);
    start_deadline(p);
}

static void on_fence(void *ctx, const struct kube_response *rejected)
{
    struct uninstall *p = ctx;

    if (rejected)
        fail_with_response(p, rejected);
    else
        loop_timer_start(p->loop, &p->check_timer, 0, on_check);
}

/* Without its definition there is no IPUJob. */
static bool crd_is_missing(const struct uninstall *p)
{
    const struct err *trouble = watch_trouble(p->jobs, &(int64_t){0});

    return trouble && trouble->kind == ERR_NOT_FOUND;
}

/* What is still to be listed, or NULL. */
static const struct watch *first_unsynced_watch(const struct uninstall *p)
{
    if (!watch_is_synced(p->jobs) && !crd_is_missing(p))
        return p->jobs;
    return watch_is_synced(p->records) ? NULL : p->records;
}

/* Takes each job a step on; how many are not free. */
static size_t step_jobs(struct uninstall *p)
{
    size_t open = 0;

    for (const struct store_item *i = store_first(watch_store(p->jobs)); i; i = store_next(i)) {
        enum uninstall_check uninstall_check = uninstall_check_job(i->view, p->settings->ns);

        open += uninstall_check != UNINSTALL_OK;
        if (uninstall_check == UNINSTALL_BLOCKED)
            suspend(p, i->view);
        else if (uninstall_check == UNINSTALL_SUSPENDED)
            drop_finalizer(p, i->view);
    }
    return open;
}

static void on_check(struct loop_timer *timer)
{
    struct uninstall *p = CONTAINER_OF(timer, struct uninstall, check_timer);
    AUTO(str) struct str names = {0};

    if (p->is_ready)
        return;
    if (first_unsynced_watch(p))
        loop_timer_start(p->loop, &p->check_timer, AGAIN_MS, on_check);
    else if (report_blockers(p))
        finish(p, SUBCOMMAND_FAILED);
    else if (step_jobs(p) + name_partitions(p, UNINSTALL_ENDING, &names) > 0)
        lower_fence(p);
    else if (watch_is_synced(p->jobs))
        raise_fence_or_finish(p);
    else
        finish_ready(p);
}

static void on_synced(void *ctx)
{
    struct uninstall *p = ctx;

    loop_timer_start(p->loop, &p->check_timer, 0, on_check);
}

static void on_change(void *ctx, const struct store_change *change)
{
    (void)change;
    on_synced(ctx);
}

/* It has lasted too long. */
static void report_timeout(const struct uninstall *p)
{
    AUTO(str) struct str jobs = {0}, partitions = {0};
    size_t count = name_jobs(p, UNINSTALL_SUSPENDED, &jobs);
    size_t held = name_partitions(p, UNINSTALL_ENDING, &partitions);

    if (count || !held)
        (void)fprintf(stderr,
                      "ipu-operator: timed out after %u s waiting for %zu %s to stop: %s; check `kubectl "
                      "describe ipujob` and that the operator is running, then uninstall again\n",
                      p->settings->seconds, count, count == 1 ? "IPUJob" : "IPUJobs", str_text(&jobs));
    if (held)
        (void)fprintf(
            stderr,
            "ipu-operator: timed out after %u s waiting for the release of partitions: %s; check that the "
            "operator is running, and its log, then uninstall again\n",
            p->settings->seconds, str_text(&partitions));
}

static void on_deadline(struct loop_timer *timer)
{
    struct uninstall *p = CONTAINER_OF(timer, struct uninstall, deadline);
    const struct watch *missing = p->jobs ? first_unsynced_watch(p) : NULL;
    const struct err *trouble = missing ? watch_trouble(missing, &(int64_t){0}) : NULL;

    if (!p->jobs || missing)
        (void)fprintf(stderr, "ipu-operator: cannot list %s within %u s: %s\n",
                      missing && missing == p->records ? "partition records" : "IPUJobs",
                      p->settings->seconds, trouble ? trouble->msg : "the API server is not responding");
    else
        report_timeout(p);
    finish(p, SUBCOMMAND_FAILED);
}

/* ---- life ---- */

static void start_watches(struct uninstall *p)
{
    p->jobs = watch_new(p->kube, &(struct watch_options){.resource = &KUBE_IPUJOBS,
                                                         .ns = p->settings->watch_ns,
                                                         .view = job_view_item,
                                                         .view_free = job_free_item,
                                                         .on_change = on_change,
                                                         .on_synced = on_synced,
                                                         .ctx = p});
    p->records = watch_new(p->kube, &(struct watch_options){.resource = &KUBE_CONFIGMAPS,
                                                            .ns = p->settings->ns,
                                                            .label_selector = LABEL_RECORD,
                                                            .view = record_view_item,
                                                            .view_free = record_free_item,
                                                            .on_change = on_change,
                                                            .on_synced = on_synced,
                                                            .ctx = p});
    loop_timer_start(p->loop, &p->check_timer, 0, on_check);
}

static void on_configmap(void *ctx, struct kube_response *res)
{
    struct uninstall *p = ctx;

    if (res->err.kind != ERR_NONE && res->http_status != 404) {
        fail_with_response(p, res);
        return;
    }
    p->drain =
        p->drain || str_eq(json_str(res->body, "metadata/annotations/graphcore.ai~1drain", ""), "true");
    p->owner_uid = res->err.kind == ERR_NONE ? mem_strdup(json_str(res->body, "metadata/uid", NULL)) : NULL;
    p->fence.owner_uid = p->owner_uid;
    start_watches(p);
}

/* Its annotation enables --drain after a failed uninstall: Helm does not upgrade a release that it has begun
 * to uninstall. */
static void read_configmap(struct uninstall *p)
{
    kube_send(p->kube,
              &(struct kube_request){.method = "GET",
                                     .resource = &KUBE_CONFIGMAPS,
                                     .ns = p->settings->ns,
                                     .name = p->settings->drain_configmap},
              on_configmap, p);
}

static int run_uninstall_check(struct uninstall *p)
{
    void *value;

    if (p->settings->drain_configmap)
        read_configmap(p);
    else
        start_watches(p);
    start_deadline(p);
    loop_run(p->loop);
    fence_give_up(&p->fence);
    loop_timer_stop(&p->check_timer);
    loop_timer_stop(&p->deadline);
    if (p->jobs) {
        watch_free(p->jobs);
        watch_free(p->records);
    }
    for (size_t n = 0; map_next(&p->patched, &n, NULL, &value);)
        mem_free(value);
    map_release(&p->patched);
    mem_free(p->owner_uid);
    return p->exit_code;
}

static int run(void *settings, struct loop *loop, struct kube *kube)
{
    struct uninstall p = {.settings = settings, .loop = loop, .kube = kube};

    p.drain = p.settings->drain;
    p.fence = (struct fence){.kube = kube,
                             .ns = p.settings->ns,
                             .lease = p.settings->lease,
                             .owner = p.settings->drain_configmap,
                             .on_change = on_fence,
                             .ctx = &p};
    return run_uninstall_check(&p);
}

int before_uninstall_main(int argc, char **argv, const char *(*env)(const char *))
{
    struct settings settings = {0};

    return subcommand_main(&SPEC, &settings.access, run, argc, argv, env);
}
