#include "operator/reconcile/decide/decide.h"

#include "base/core/mem.h"
#include "operator/api/job/job_finished.h"
#include "operator/api/names.h"
#include "operator/api/reasons.h"
#include "operator/reconcile/decide/inactive.h"
#include "operator/reconcile/decide/instance/instance.h"
#include "operator/reconcile/decide/instance/instance_prerequisites.h"
#include "operator/reconcile/decide/lifetime.h"
#include "operator/reconcile/decide/rollout.h"
#include "operator/reconcile/decide/run/hold.h"
#include "operator/reconcile/decide/status/status.h"

static bool is_ours(const struct job *job)
{
    return !job->is_vendors && job_is_managed_by_us(&job->spec);
}

/* ---- jobs that run ---- */

struct tally {
    uint32_t phases[INSTANCE_FAILED + 1];
    struct instance_result first[INSTANCE_FAILED + 1]; /* reason and text for each phase; texts owned */
    bool fatal, unanswered, step;
};

/* Report order: fatal results (only a changed spec can fix them), then results with a message. */
static bool reports_before(const struct instance_result *result, const struct instance_result *than)
{
    if (result->is_fatal != than->is_fatal)
        return result->is_fatal;
    return result->text && !than->text;
}

static void tally_add(struct tally *tally, struct instance_result *result)
{
    enum instance_phase phase = result->phase;

    tally->unanswered = tally->unanswered || result->is_unanswered;
    tally->step = tally->step || result->is_step;
    tally->fatal = tally->fatal || (phase == INSTANCE_FAILED && result->is_fatal);
    if (tally->phases[phase]++ == 0 || reports_before(result, &tally->first[phase])) {
        mem_free(tally->first[phase].text);
        tally->first[phase] = *result;
    } else {
        mem_free(result->text);
    }
}

static void tally_release(struct tally *tally)
{
    for (size_t i = 0; i < COUNT_OF(tally->first); i++)
        mem_free(tally->first[i].text);
}

/* Tries count as one time of being stuck, also while the next one waits for IPUs. */
static const char *why_stuck(const struct job_view *view, const struct instance_result *result)
{
    bool is_between_tries = instance_was_rejected(view) &&
                            (result->phase == INSTANCE_WAITING || result->phase == INSTANCE_STARTING);

    return result->is_stuck ? result->text : is_between_tries ? view->create_text : NULL;
}

static void add_result(const struct job_view *view, const struct instance_view *inst,
                       const struct instance_result *result, struct job_verdict *v)
{
    if (!v->stuck_at)
        v->stuck_at = mem_strdup(why_stuck(view, result));
    v->has_started = v->has_started || (inst->record && result->phase != INSTANCE_WAITING);
    v->with_partition += result->has_partition;
    v->has_unresponsive_controller = v->has_unresponsive_controller || result->has_unresponsive_controller;
    v->active += result->active;
    v->succeeded += result->succeeded;
    v->failed += result->failed;
}

static enum rollout_action rollout_action_of(const struct rollout *rollout, uint32_t index)
{
    if (!indexset_has(&rollout->replace, index))
        return ROLLOUT_NONE;
    return rollout->may_start ? ROLLOUT_REPLACE : ROLLOUT_STOP;
}

/* Pods that were stopped for a suspension are not reported as deleted by a user. */
static void report_resumption(const cJSON *status, struct instance_result *result)
{
    bool was_suspended = str_eq(json_str(status, "launcherStatus", ""), "Suspended") ||
                         str_eq(json_str(status, "reason", ""), "StoppingOldPods");

    if (was_suspended && str_eq(result->reason, "PodDeleted"))
        instance_set_result(result, INSTANCE_STARTING, "StoppingOldPods",
                            "Waiting for pods from before the suspension to terminate");
}

static enum instance_phase decide_instance(const struct job_view *view, const struct instance_view *inst,
                                           const struct rollout *rollout, const cJSON *status,
                                           struct job_verdict *v, struct plan *plan, struct tally *tally)
{
    struct instance_result result = {0};

    if (indexset_has(&v->done, inst->index) || indexset_has(&v->broken, inst->index)) {
        mem_free(instance_stop(view, inst, KEEP_ALL, RELEASE_FOR_GOOD, plan));
        instance_count_pods(view, inst, &result);
        result.phase = indexset_has(&v->done, inst->index) ? INSTANCE_DONE : INSTANCE_FAILED;
    } else {
        instance_decide(view, inst, rollout_action_of(rollout, inst->index), plan, &result);
        report_resumption(status, &result);
        if (result.phase == INSTANCE_DONE)
            indexset_add(&v->done, inst->index);
        if (result.phase == INSTANCE_FAILED && !result.is_fatal)
            indexset_add(&v->broken, inst->index);
        if (result.failure.reason)
            verdict_add_failure(v, &result.failure);
        if (inst->record && inst->record->restarts > v->restarts)
            v->restarts = inst->record->restarts;
        if (inst->record && inst->record->preemptions > v->preemptions)
            v->preemptions = inst->record->preemptions;
    }
    add_result(view, inst, &result, v);
    v->unready += result.unready;
    if (!v->unready_pod)
        v->unready_pod = result.unready_pod;
    if (!result.has_partition && result.phase != INSTANCE_DONE)
        v->all_partitions = false;
    tally_add(tally, &result);
    return result.phase;
}

static struct instance_view idle_instance(const struct job_view *view, uint32_t index)
{
    struct instance_view inst = view->idle;

    inst.index = index;
    return inst;
}

static bool are_answered(const struct job_view *view, const struct indexset *idle)
{
    AUTO(indexset) struct indexset others = {0};

    if (!view->answered)
        return true;
    indexset_add_all(&others, idle);
    indexset_remove_all(&others, view->answered);
    return indexset_count(&others) == 0;
}

/* All of them get the answer of the first one. */
static void decide_idle(const struct job_view *view, const struct indexset *idle,
                        const struct rollout *rollout, const cJSON *status, struct job_verdict *v,
                        struct plan *plan, struct tally *tally)
{
    struct instance_view first = idle_instance(view, indexset_next(idle, 0));
    enum instance_phase phase;
    const struct op *claims;

    if (!are_answered(view, idle))
        first.claim = CLAIM_NONE;
    phase = decide_instance(view, &first, rollout, status, v, plan, tally);
    claims = plan_claims(plan);
    tally->phases[phase] += (uint32_t)indexset_count(idle) - 1;
    if (claims && indexset_has(&claims->instances, first.index))
        plan_claim_all(plan, idle, claims->ready);
}

/* Those that have ended and whose pods and partitions are gone. */
static void count_ended(const struct job_view *view, const struct indexset *waiting, struct job_verdict *v,
                        struct tally *tally)
{
    AUTO(indexset) struct indexset ended = {0};
    uint32_t count, failed;

    view_add_idle(view, &ended);
    indexset_remove_all(&ended, waiting);
    count = (uint32_t)indexset_count(&ended);
    indexset_remove_all(&ended, &v->done);
    failed = (uint32_t)indexset_count(&ended);
    tally->phases[INSTANCE_FAILED] += failed;
    tally->phases[INSTANCE_DONE] += count - failed;
    if (failed)
        v->all_partitions = false;
}

/* In the order of their indices. */
static void decide_instances(const struct job_view *view, const struct rollout *rollout, const cJSON *status,
                             struct job_verdict *v, struct plan *plan, struct tally *tally)
{
    AUTO(indexset) struct indexset waiting = {0};
    uint32_t first;

    v->all_partitions = view->instance_count > 0;
    view_add_idle(view, &waiting);
    indexset_remove_all(&waiting, &v->done);
    indexset_remove_all(&waiting, &v->broken);
    count_ended(view, &waiting, v, tally);
    first = indexset_next(&waiting, 0);
    for (size_t i = 0; i < view->live_count && view->live[i].index < view->instance_count; i++) {
        if (first < view->live[i].index) {
            decide_idle(view, &waiting, rollout, status, v, plan, tally);
            first = INDEXSET_MAX;
        }
        decide_instance(view, &view->live[i], rollout, status, v, plan, tally);
    }
    if (first < INDEXSET_MAX)
        decide_idle(view, &waiting, rollout, status, v, plan, tally);
}

/* Surge instances of a rolling update. Their result does not count for the job. Returns why no partition is
 * available for them (owned), or NULL. */
static char *decide_surge(const struct job_view *view, const struct rollout *rollout, struct job_verdict *v,
                          struct plan *plan)
{
    size_t end = view->instance_count + rollout->surge;
    char *waits = NULL;

    for (size_t i = view->instance_count; i < end; i++) {
        const struct instance_view idle = idle_instance(view, (uint32_t)i);
        const struct instance_view *live = view_live(view, i), *inst = live ? live : &idle;
        struct instance_result result = {0};

        instance_decide(view, inst, rollout_action_of(rollout, inst->index), plan, &result);
        add_result(view, inst, &result, v);
        if (result.phase == INSTANCE_WAITING && result.wait && !waits)
            waits = TAKE(result.text);
        mem_free(result.text);
    }
    for (size_t i = 0; i < view->live_count; i++) {
        if (view->live[i].index >= end)
            mem_free(instance_stop(view, &view->live[i], KEEP_ALL, RELEASE_FOR_GOOD, plan));
    }
    return waits;
}

/* The phase that is reported for the whole job: what keeps it from running first. */
static const struct instance_result *first_to_report(const struct tally *tally, enum job_state *ret_state)
{
    static const struct {
        enum instance_phase phase;
        enum job_state state;
    } order[] = {
        {INSTANCE_HOLDING, JOB_RESTARTING}, {INSTANCE_RESTARTING, JOB_RESTARTING},
        {INSTANCE_STARTING, JOB_STARTING},  {INSTANCE_WAITING, JOB_PENDING},
        {INSTANCE_ENDING, JOB_RUNNING},
    };

    for (size_t i = 0; i < COUNT_OF(order); i++) {
        if (tally->phases[order[i].phase] == 0)
            continue;
        *ret_state = order[i].state;
        return &tally->first[order[i].phase];
    }
    return NULL;
}

/* The newest failure of them that the status keeps: in which step each was seen makes no difference. */
static char *describe_failed_instance(const cJSON *status, const struct job_verdict *v)
{
    AUTO(json)
    cJSON *failures =
        failures_merge(json_at(status, "failures"), v->failures, v->failure_count, status_start_s(status));

    JSON_EACH (item, failures) {
        AUTO(mem) char *what = failure_entry_sentence(item);

        if (indexset_has(&v->broken, (uint32_t)json_i64(item, "instance", 0)))
            return mem_printf(": %s (see status.failures)", what);
    }
    return mem_strdup("");
}

static void set_final_verdict(const struct job_view *view, const cJSON *status, const struct tally *tally,
                              struct job_verdict *v)
{
    const struct instance_result *failed = &tally->first[INSTANCE_FAILED];

    if (tally->phases[INSTANCE_FAILED] == 0) {
        v->state = JOB_COMPLETED;
        v->reason = "Completed";
        v->message = mem_strdup(ALL_INSTANCES_DONE);
        return;
    }
    v->state = JOB_FAILED;
    if (failed->text && view->instance_count == 1) {
        v->reason = failed->reason;
        v->message = mem_strdup(failed->text);
        return;
    }

    AUTO(mem) char *what = describe_failed_instance(status, v);

    v->reason = "InstanceFailed";
    v->message = mem_printf("%u of %zu instances failed%s", tally->phases[INSTANCE_FAILED],
                            view->instance_count, what);
}

static uint32_t count_running(const struct tally *tally)
{
    return tally->phases[INSTANCE_RUNNING] + tally->phases[INSTANCE_ENDING];
}

static char *report_progress(const struct job_view *view, const struct tally *tally)
{
    struct str out = {0};

    str_addf(&out, "%u of %zu instances running, %u done", count_running(tally), view->instance_count,
             tally->phases[INSTANCE_DONE]);
    if (tally->phases[INSTANCE_FAILED])
        str_addf(&out, ", %u failed", tally->phases[INSTANCE_FAILED]);
    return str_take(&out);
}

/* All of them run, so the job does. */
static void report_unready(const struct job_view *view, const char *progress, struct job_verdict *v)
{
    AUTO(mem) char *why = pod_describe_unready(v->unready_pod);
    AUTO(mem)
    char *what = v->unready == 1 ? mem_printf("Pod %s is not ready: %s", v->unready_pod->name, why)
                                 : mem_printf("%u pods are not ready, such as %s: %s", v->unready,
                                              v->unready_pod->name, why);

    v->reason = v->unready_pod->node_not_ready ? "NodeNotReady" : "PodsNotReady";
    v->message = view->instance_count == 1 ? TAKE(what) : mem_printf("%s; %s", progress, what);
}

static void set_verdict(const struct job_view *view, const cJSON *status, const struct tally *tally,
                        struct job_verdict *v)
{
    uint32_t ended = tally->phases[INSTANCE_DONE] + tally->phases[INSTANCE_FAILED];
    const struct instance_result *reported = first_to_report(tally, &v->state);
    AUTO(mem) char *progress = report_progress(view, tally);

    v->running = count_running(tally);
    v->wait = tally->first[INSTANCE_WAITING].wait;
    if (view->instance_count == 0) {
        v->state = JOB_PENDING;
        v->reason = "ScaledToZero";
        v->message = mem_strdup("Scaled to zero; set spec.jobInstances to 1 or more to start the job");
    } else if (tally->fatal) {
        v->state = JOB_FAILED;
        v->reason = tally->first[INSTANCE_FAILED].reason;
        v->message = mem_strdup(tally->first[INSTANCE_FAILED].text);
    } else if (ended == view->instance_count) {
        set_final_verdict(view, status, tally, v);
    } else if (reported) {
        v->reason = reported->reason;
        v->message = view->instance_count == 1 ? mem_strdup(reported->text)
                                               : mem_printf("%s; %s", progress, reported->text);
        if (v->running && v->state != JOB_RESTARTING)
            v->state = JOB_RUNNING;
    } else if (v->unready) {
        v->state = JOB_RUNNING;
        report_unready(view, progress, v);
    } else {
        v->all_pods = true;
        v->state = JOB_RUNNING;
        v->reason = "Running";
        v->message = mem_strdup(view->instance_count == 1 ? "Running" : progress);
    }
}

static void report_rollout(const struct job_view *view, const struct rollout *rollout, const char *waits,
                           struct job_verdict *v)
{
    char *before = v->message;

    if (rollout->outdated == 0 || v->state == JOB_COMPLETED || v->state == JOB_FAILED)
        return;
    if (view->job->spec.has_launcher)
        v->message =
            mem_printf("%s; the pod template has changed: suspend and resume the job to apply it", before);
    else
        v->message = mem_printf("%s; rolling update: %u of %u instances updated%s%s", before,
                                rollout->updated, rollout->wanted,
                                waits ? "; no partition available for maxSurge: " : "", waits ? waits : "");
    mem_free(before);
}

static void report_hold(const struct job_view *view, const struct plan *plan, struct job_verdict *v)
{
    AUTO(mem) char *hold = hold_describe(view, plan);
    char *before = v->message;

    if (!hold || verdict_has_ended(v))
        return;
    v->message = mem_printf("%s; %s", before, hold);
    mem_free(before);
}

static void report_outgrown_limit(const struct job_view *view, struct job_verdict *v)
{
    uint32_t limit_s = lifetime_outgrown_s(view);
    char *before = v->message;

    if (!limit_s || verdict_has_ended(v))
        return;
    v->message =
        mem_printf("%s; its limit was raised while it has IPUs, and it still ends after %u s: other jobs "
                   "may be promised them; suspend and resume the job to apply it",
                   before, limit_s);
    mem_free(before);
}

/* The report that a job is starting can wait for the next step. No other can. */
static bool is_transient_step(const struct tally *tally, const struct job_verdict *v)
{
    const struct reason *reason = reason_find(v->reason);

    return tally->step && v->state == JOB_STARTING && reason && reason->kind == REASON_PROGRESS &&
           v->failure_count == 0;
}

static bool is_time_to_report(const struct tally *tally, const struct job_verdict *v)
{
    return !tally->unanswered && !is_transient_step(tally, v);
}

static void claim_places(const struct job_view *view, struct plan *plan)
{
    AUTO(indexset) struct indexset waiting = {0};

    indexset_add_range(&waiting, 0, (uint32_t)view->instance_count);
    for (size_t i = 0; i < view->live_count; i++) {
        if (view->live[i].record)
            indexset_remove(&waiting, view->live[i].index);
    }
    plan_claim_all(plan, &waiting, false);
}

static void decide_active_job(const struct job_view *view, const cJSON *status, struct plan *plan)
{
    struct job_verdict v = {0};
    struct tally tally = {0};
    AUTO(rollout) struct rollout rollout = {0};
    AUTO(mem) char *waits = NULL;
    bool has_rejected_write;
    char *text = NULL;

    /* A job of an earlier version has no name of an operator; the API server lets one of several set it. */
    if (!view->job->has_finalizer || !view->job->operator_ns) {
        plan_add(plan, OP_FINALIZER_ADD); /* a write of its own, before any request outside the cluster */
        claim_places(view, plan);
        v.message = mem_strdup("Waiting to add the finalizer before starting the job");
        if (verdict_note_rejected_write(view, plan, &v))
            status_decide(view, status, &v, plan);
        verdict_release(&v);
        return;
    }
    verdict_read_ended(status, &v);
    decide_leftovers(view, &v, KEEP_ALL, plan, &text);
    mem_free(text);
    rollout_decide(view, &v.done, &v.broken, &rollout);
    decide_instances(view, &rollout, status, &v, plan, &tally);
    waits = decide_surge(view, &rollout, &v, plan);
    if (v.active)
        decide_shared(view, plan);
    set_verdict(view, status, &tally, &v);
    report_rollout(view, &rollout, waits, &v);
    report_hold(view, plan, &v);
    report_outgrown_limit(view, &v);
    has_rejected_write = verdict_note_rejected_write(view, plan, &v);
    if (view->job->overrides_restart_policy &&
        json_i64(status, "observedGeneration", 0) != view->job->generation && is_time_to_report(&tally, &v))
        plan_event(plan, "RestartPolicyIgnored",
                   "spec.workers.template.spec.restartPolicy is ignored: pods always use Never; set "
                   "spec.restartPolicy to restart the job",
                   true);
    if (lifetime_limit(view, status, &v, plan) || has_rejected_write || is_time_to_report(&tally, &v))
        status_decide(view, status, &v, plan);
    tally_release(&tally);
    verdict_release(&v);
}

void job_decide(const struct job_view *view, struct plan *plan)
{
    const struct job *job = view->job;
    char *text = NULL;

    if (!job || !is_ours(job)) {
        decide_leftovers(view, NULL, KEEP_ALL, plan, &text);
        mem_free(text);
        return;
    }

    if (job_is_of_other_operator(job, view->operator_ns)) {
        decide_of_other_operator(view, plan);
        return;
    }

    struct err err = {0};
    AUTO(json) cJSON *status = job_status(job, &err);

    if (job->deleting) {
        if (job->has_finalizer)
            decide_deletion(view, status, plan);
    } else if (status_is_finished(status) && !status_is_outdated_rejection(status, job->generation)) {
        decide_finished(view, status, plan);
    } else if (job->problems.count) {
        decide_invalid(view, status, plan);
    } else if (job->spec.suspend) {
        decide_suspended(view, status, plan);
    } else {
        decide_active_job(view, status, plan);
    }
}
