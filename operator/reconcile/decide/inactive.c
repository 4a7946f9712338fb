#include "operator/reconcile/decide/inactive.h"

#include "base/core/mem.h"
#include "operator/api/job/job_finished.h"
#include "operator/api/names.h"
#include "operator/reconcile/decide/instance/instance.h"
#include "operator/reconcile/decide/lifetime.h"
#include "operator/reconcile/decide/run/hold.h"
#include "operator/reconcile/decide/status/status.h"

/* ---- resources that are left ---- */

/* The admin's adopt annotation makes the partition this job's: it is removed with the job. Until then its
 * pods are not counted. */
static bool is_vendors_partition(const struct job *job, const struct record *record)
{
    return job && job->is_vendors && str_eq(record->job_uid, job->uid);
}

static void decide_tombstones(const struct job_view *view, const struct job_verdict *verdict,
                              struct plan *plan, char **ret_text)
{
    for (size_t i = 0; i < view->tombstone_count; i++) {
        const struct tombstone_view *tomb = &view->tombstones[i];

        if (is_vendors_partition(view->job, tomb->record))
            continue;
        char *text = tombstone_decide(view, tomb, release_of(view, tomb->record, verdict), plan);

        if (*ret_text)
            mem_free(text);
        else
            *ret_text = text;
    }
}

void decide_leftovers(const struct job_view *view, const struct job_verdict *verdict, enum keep keep,
                      struct plan *plan, char **ret_text)
{
    for (size_t i = 0; i < view->extra_count; i++)
        end_pod(view, keep, view->extra_pods[i], plan);
    decide_tombstones(view, verdict, plan, ret_text);
    if (!view->pending_record)
        return;
    plan_again_at(plan, view->pending_until_ms);
    if (!*ret_text)
        *ret_text = mem_printf("waiting for an earlier request for the record of partition %s to expire",
                               view->pending_record);
}

/* ---- jobs of another operator ---- */

void decide_of_other_operator(const struct job_view *view, struct plan *plan)
{
    char *text = NULL;

    for (size_t i = 0; i < view->live_count; i++) {
        struct instance_view held = view->live[i];

        held.stale_count = 0; /* the other operator's */
        if (held.record)
            mem_free(instance_stop(view, &held, KEEP_ALL, RELEASE_FOR_GOOD, plan));
    }
    decide_tombstones(view, NULL, plan, &text);
    mem_free(text);
}

/* ---- jobs that run no more pods ---- */

/* Stops all instances; returns a sentence about what is still to be done, or NULL. */
static char *stop_all(const struct job_view *view, enum keep keep, enum release release, struct plan *plan)
{
    char *first = NULL;

    for (size_t i = 0; i < view->live_count; i++) {
        char *text = instance_stop(view, &view->live[i], keep, release, plan);

        if (first)
            mem_free(text);
        else
            first = text;
    }
    return first;
}

static void count_pods(const struct job_view *view, struct job_verdict *v)
{
    for (size_t i = 0; i < view->live_count; i++) {
        struct instance_result result = {0};

        instance_count_pods(view, &view->live[i], &result);
        v->active += result.active;
        v->succeeded += result.succeeded;
        v->failed += result.failed;
    }
}

/* With the same IPUs it goes on if it is resumed now. Those that are being removed are not used again. */
static bool has_ipus(const struct job_view *view)
{
    for (size_t i = 0; i < view->live_count; i++) {
        if (view->live[i].record)
            return true;
    }
    return false;
}

static bool has_records(const struct job_view *view)
{
    if (view->pending_record || has_ipus(view))
        return true;
    for (size_t i = 0; i < view->tombstone_count; i++) {
        if (!view->tombstones[i].record->spent_s)
            return true;
    }
    return false;
}

/* Every partition that is left is listed in the admin's annotation, and its controller could not be reached.
 * The records stay, and are removed when their controllers answer. */
static bool is_released_by_annotation(const struct job_view *view)
{
    if (view->pending_record)
        return false;
    for (size_t i = 0; i < view->live_count; i++) {
        const struct instance_view *inst = &view->live[i];

        if (inst->record && (!inst->released_by_admin || !inst->partition.trouble))
            return false;
    }
    for (size_t i = 0; i < view->tombstone_count; i++) {
        const struct tombstone_view *tomb = &view->tombstones[i];

        if (!tomb->record->spent_s && (!tomb->released_by_admin || !tomb->partition.trouble))
            return false;
    }
    return true;
}

/* The remaining ids whose controller could not be reached, as the admin's annotation has to list them. */
static char *how_to_release_later(const struct job_view *view)
{
    AUTO(str) struct str ids = {0};

    for (size_t i = 0; i < view->live_count; i++) {
        const struct instance_view *inst = &view->live[i];

        if (inst->record && !inst->released_by_admin && inst->partition.trouble)
            str_addf(&ids, "%s%s", ids.len ? "," : "", inst->record->name);
    }
    for (size_t i = 0; i < view->tombstone_count; i++) {
        const struct tombstone_view *tomb = &view->tombstones[i];

        if (!tomb->record->spent_s && !tomb->released_by_admin && tomb->partition.trouble)
            str_addf(&ids, "%s%s", ids.len ? "," : "", tomb->record->name);
    }
    if (ids.len == 0)
        return mem_strdup("");

    AUTO(mem) char *command = hold_release_command(view, str_text(&ids));

    return mem_printf(". To delete the job now and release its partitions later, run: %s", command);
}

/* What is held explains more than what is waited for. */
static void prefer_hold(const struct job_view *view, const struct plan *plan, struct job_verdict *v,
                        char **text)
{
    char *hold = hold_describe(view, plan);

    if (!hold)
        return;
    v->reason = "TerminationUnconfirmed"; /* a changed reason is reported immediately */
    mem_free(*text);
    *text = hold;
}

/* NULL: there are none. */
static char *finalizers_of_others(const struct job *job)
{
    AUTO(str) struct str names = {0};

    for (size_t i = 0; i < job->finalizers.count; i++) {
        if (!str_eq(job->finalizers.items[i], API_FINALIZER))
            str_addf(&names, "%s%s", names.len ? ", " : "", job->finalizers.items[i]);
    }
    return names.len ? str_take(&names) : NULL;
}

/* Without its finalizer the operator does not write the status any more: what keeps the object is reported
 * before. It removes its own only from a list that it can write again. */
static void finish_deletion(const struct job_view *view, const cJSON *status, struct job_verdict *v,
                            struct plan *plan)
{
    bool has_many = view->job->has_many_finalizers;
    AUTO(mem)
    char *others = has_many ? mem_printf("they have more than %zu KiB", JOB_FINALIZERS_MAX / 1024)
                            : finalizers_of_others(view->job);

    if (others) {
        verdict_read_ended(status, v);
        v->message = mem_printf(
            "Deleting: all is released; the object remains until its other finalizers are removed: %s",
            others);
        status_decide(view, status, v, plan);
    }
    if (!plan_has(plan, OP_STATUS) && !has_many)
        plan_add(plan, OP_FINALIZER_REMOVE);
}

void decide_deletion(const struct job_view *view, const cJSON *status, struct plan *plan)
{
    struct job_verdict v = {.state = JOB_TERMINATING, .reason = "Terminating"};
    char *text = stop_all(view, KEEP_NOTHING, RELEASE_FOR_GOOD, plan);

    decide_leftovers(view, NULL, KEEP_NOTHING, plan, &text);
    if (!has_records(view) || is_released_by_annotation(view)) {
        finish_deletion(view, status, &v, plan);
    } else {
        AUTO(mem) char *way_out = how_to_release_later(view);

        prefer_hold(view, plan, &v, &text);
        if (*way_out)
            v.reason = "ControllerUnavailable"; /* a changed reason is reported immediately */
        verdict_read_ended(status, &v);
        count_pods(view, &v);
        v.message = mem_printf("Deleting: %s%s", text, way_out);
        verdict_note_rejected_write(view, plan, &v);
        status_decide(view, status, &v, plan);
    }
    mem_free(text);
    verdict_release(&v);
}

static bool waits_for_controller(const struct job_view *view)
{
    for (size_t i = 0; i < view->live_count; i++) {
        if (view->live[i].record && view->live[i].partition.trouble)
            return true;
    }
    for (size_t i = 0; i < view->tombstone_count; i++) {
        if (!view->tombstones[i].record->spent_s && view->tombstones[i].partition.trouble)
            return true;
    }
    return false;
}

void decide_suspended(const struct job_view *view, const cJSON *status, struct plan *plan)
{
    struct job_verdict v = {.state = JOB_SUSPENDED, .reason = "Suspended", .has_started = has_ipus(view)};
    char *text = stop_all(view, KEEP_ALL, RELEASE_FOR_NOW, plan);

    verdict_read_ended(status, &v);
    decide_leftovers(view, &v, KEEP_ALL, plan, &text);
    count_pods(view, &v);
    prefer_hold(view, plan, &v, &text);
    if (text && waits_for_controller(view))
        v.reason = "ControllerUnavailable"; /* a changed reason is reported immediately */
    v.message =
        text ? mem_printf("Suspending: %s", text) : mem_strdup("Suspended; no IPUs held" SUSPENDED_REMEDY);
    verdict_note_rejected_write(view, plan, &v);
    status_decide(view, status, &v, plan);
    mem_free(text);
    verdict_release(&v);
}

static enum keep keep_by_policy(enum clean_policy clean)
{
    switch (clean) {
    case CLEAN_NONE:
        return KEEP_ALL;
    case CLEAN_WORKERS:
        return KEEP_LAUNCHERS;
    case CLEAN_ALL:
        break;
    }
    return KEEP_NOTHING;
}

/* The finalizer is removed as for any deletion. */
static void plan_job_delete(const struct job *job, struct plan *plan)
{
    struct op *op = plan_add(plan, OP_JOB_DELETE);

    op->name = mem_strdup(job->name);
    op->uid = mem_strdup(job->uid);
}

/* The status is updated too, so that each change is reported once. */
static void report_change_after_end(const struct job *job, const cJSON *status, struct plan *plan)
{
    if (json_i64(status, "desiredReplicas", 0) != job->spec.instances)
        plan_event(plan, "ScaleIgnored",
                   "The job has finished and cannot be scaled; delete and re-create it to run it again",
                   true);
    else if (json_i64(status, "observedGeneration", 0) != job->generation)
        plan_event(plan, "UpdateIgnored",
                   "The job has finished; changes other than ttlSecondsAfterFinished and cleanPodPolicy are "
                   "ignored. Delete and re-create it to run it again",
                   false);
}

void decide_finished(const struct job_view *view, const cJSON *status, struct plan *plan)
{
    bool is_expired = lifetime_is_expired(view, status, plan);
    bool may_be_corrected = status_is_rejection(status);
    enum keep keep = keep_by_policy(view->job->spec.clean);
    struct job_verdict v = {.reason = json_str(status, "reason", "Completed")};
    char *text = stop_all(view, keep, may_be_corrected ? RELEASE_FOR_NOW : RELEASE_FOR_GOOD, plan);

    verdict_read_ended(status, &v);
    decide_leftovers(view, may_be_corrected ? &v : NULL, keep, plan, &text);
    mem_free(text);
    if (is_expired)
        plan_job_delete(view->job, plan);
    else if (!has_records(view) && view->job->has_finalizer && !view->job->has_many_finalizers)
        plan_add(plan, OP_FINALIZER_REMOVE);
    v.state = str_eq(json_str(status, "launcherStatus", ""), "Completed") ? JOB_COMPLETED : JOB_FAILED;
    v.message = mem_strdup(json_str(status, "lastMessage", ""));
    v.succeeded = (uint32_t)json_i64(status, "workersStatus/succeeded", 0);
    v.failed = (uint32_t)json_i64(status, "workersStatus/failed", 0);
    report_change_after_end(view->job, status, plan);
    status_decide(view, status, &v, plan);
    verdict_release(&v);
}

static char *join(const struct strv *lines)
{
    struct str out = {0};

    for (size_t i = 0; i < lines->count; i++)
        str_addf(&out, "%s%s", i ? "; " : "", lines->items[i]);
    return str_take(&out);
}

void decide_invalid(const struct job_view *view, const cJSON *status, struct plan *plan)
{
    struct job_verdict v = {.state = JOB_FAILED, .reason = "InvalidSpec"};

    v.message = join(&view->job->problems);
    status_decide(view, status, &v, plan);
    verdict_release(&v);
}
