#include "operator/reconcile/decide.h"

#include "base/core/mem.h"
#include "operator/api/names.h"
#include "operator/reconcile/instance.h"
#include "operator/reconcile/rollout.h"
#include "operator/reconcile/lifetime.h"
#include "operator/reconcile/status.h"

/* The value of spec.managedBy that means us. */
#define MANAGED_BY_US "graphcore.ai/ipu-operator"

static bool is_ours(const struct job *job)
{
    return !job->spec.managed_by || !*job->spec.managed_by || str_eq(job->spec.managed_by, MANAGED_BY_US);
}

static char *join(const struct strv *lines)
{
    struct str out = {0};

    for (size_t i = 0; i < lines->count; i++)
        str_addf(&out, "%s%s", i ? "; " : "", lines->items[i]);
    return str_take(&out);
}

/* The record of an attempt that ended badly stays until a later attempt has one: it keeps the id from being
 * used again, by which a process that lives on could find the way back, and it counts attempts and restarts.
 */
static bool keeps_id(const struct job_view *view, const struct record *record, const struct verdict *going_on)
{
    bool has_successor = record->instance < view_all(view) && view->instances[record->instance].record;
    bool ended_well = record->attempt == 0 && str_eq(record->reason, RECORD_GIVEN_BACK);

    return record->releasing && !ended_well && !has_successor &&
           !indexset_has(&going_on->done, record->instance) &&
           !indexset_has(&going_on->broken, record->instance);
}

static enum release release_of(const struct job_view *view, const struct record *record,
                               const struct verdict *going_on)
{
    if (!going_on || !str_eq(record->job_uid, view->job->uid))
        return RELEASE_FOR_GOOD;
    return keeps_id(view, record, going_on) ? RELEASE_KEEPS_ID : RELEASE_FOR_NOW;
}

/* What is left of earlier attempts, removed instances and jobs that are gone. going_on: which instances have
 * ended, when the others are to run (again); NULL: nothing will. */
static void decide_leftovers(const struct job_view *view, const struct verdict *going_on, enum keep keep,
                             struct plan *plan, char **ret_text)
{
    for (size_t i = 0; i < view->extra_count; i++) {
        if (!keeps_pod(view, keep, view->extra_pods[i]))
            plan_pod_delete(plan, view->extra_pods[i]);
    }
    for (size_t i = 0; i < view->tombstone_count; i++) {
        const struct tombstone_view *tomb = &view->tombstones[i];
        char *text = tombstone_decide(view, tomb, release_of(view, tomb->record, going_on), plan);

        if (*ret_text)
            mem_free(text);
        else
            *ret_text = text;
    }
}

/* ---- endings ---- */

/* Stops all instances; returns what is still to be done, or NULL. */
static char *stop_all(const struct job_view *view, enum keep keep, enum release release, struct plan *plan)
{
    char *first = NULL;

    for (size_t i = 0; i < view_all(view); i++) {
        char *text = instance_stop(view, &view->instances[i], keep, release, plan);

        if (first)
            mem_free(text);
        else
            first = text;
    }
    return first;
}

static void count_pods(const struct job_view *view, struct verdict *v)
{
    for (size_t i = 0; i < view_all(view); i++) {
        struct instance_result result = {0};

        instance_count_pods(view, &view->instances[i], &result);
        v->active += result.active;
        v->succeeded += result.succeeded;
        v->failed += result.failed;
    }
}

static void read_ended(const cJSON *status, struct verdict *v)
{
    indexset_parse(&v->done, json_str(status, "completedInstances", ""));
    indexset_parse(&v->broken, json_str(status, "failedInstances", ""));
    v->restarts = (uint32_t)json_i64(status, "restartCount", 0);
}

static bool has_records(const struct job_view *view)
{
    for (size_t i = 0; i < view_all(view); i++) {
        if (view->instances[i].record)
            return true;
    }
    return view->tombstone_count > 0;
}

/* Every partition that is left stands in the admin's annotation. The records stay, and are swept when their
 * controllers answer. */
static bool is_let_go(const struct job_view *view)
{
    for (size_t i = 0; i < view_all(view); i++) {
        if (view->instances[i].record && !view->instances[i].released_by_admin)
            return false;
    }
    for (size_t i = 0; i < view->tombstone_count; i++) {
        if (!view->tombstones[i].released_by_admin)
            return false;
    }
    return true;
}

/* The ids that are left, for the annotation that lets go of them, when no controller could be asked. */
static char *how_to_let_go(const struct job_view *view)
{
    AUTO(str) struct str ids = {0};

    for (size_t i = 0; i < view_all(view); i++) {
        const struct instance_view *inst = &view->instances[i];

        if (inst->record && !inst->released_by_admin && inst->part.trouble)
            str_addf(&ids, "%s%s", ids.len ? "," : "", inst->record->name);
    }
    for (size_t i = 0; i < view->tombstone_count; i++) {
        const struct tombstone_view *tomb = &view->tombstones[i];

        if (!tomb->released_by_admin && tomb->part.trouble)
            str_addf(&ids, "%s%s", ids.len ? "," : "", tomb->record->name);
    }
    if (ids.len == 0)
        return mem_strdup("");
    return mem_printf(". To let the job go now and its partitions later: kubectl annotate -n %s ipujob "
                      "%s " ANNOTATION_RELEASE "=%s",
                      view->ns, view->name, str_text(&ids));
}

static void decide_deletion(const struct job_view *view, const cJSON *status, struct plan *plan)
{
    struct verdict v = {.state = JOB_TERMINATING, .reason = "Terminating"};
    char *text = stop_all(view, KEEP_NOTHING, RELEASE_FOR_GOOD, plan);
    char *left = NULL;

    decide_leftovers(view, NULL, KEEP_NOTHING, plan, &left);
    if (!has_records(view) || is_let_go(view)) {
        plan_add(plan, OP_FINALIZER_REMOVE);
    } else {
        AUTO(mem) char *way_out = how_to_let_go(view);

        if (*way_out)
            v.reason = "ControllerUnavailable"; /* a changed reason is told at once */
        read_ended(status, &v);
        count_pods(view, &v);
        v.message = mem_printf("Being deleted: %s%s",
                               text   ? text
                               : left ? left
                                      : "IPUs are being given back",
                               way_out);
        status_decide(view, status, &v, plan);
    }
    mem_free(text);
    mem_free(left);
    verdict_release(&v);
}

static void decide_suspended(const struct job_view *view, const cJSON *status, struct plan *plan)
{
    struct verdict v = {.state = JOB_SUSPENDED, .reason = "Suspended"};
    char *text = stop_all(view, KEEP_FINISHED, RELEASE_FOR_NOW, plan);

    read_ended(status, &v);
    decide_leftovers(view, &v, KEEP_FINISHED, plan, &text);
    count_pods(view, &v);
    v.message = text ? mem_printf("Suspended: %s", text)
                     : mem_strdup("Suspended; it holds no IPUs. Set spec.suspend to false to go on");
    status_decide(view, status, &v, plan);
    mem_free(text);
    verdict_release(&v);
}

static enum keep keep_by_policy(enum clean_policy clean)
{
    switch (clean) {
    case CLEAN_NONE:
        return KEEP_FINISHED;
    case CLEAN_WORKERS:
        return KEEP_LAUNCHERS;
    case CLEAN_ALL:
        break;
    }
    return KEEP_NOTHING;
}

/* Its story is told; what it still holds goes back. */
static void decide_finished(const struct job_view *view, const cJSON *status, struct plan *plan)
{
    if (lifetime_is_expired(view, status, plan)) {
        struct op *op = plan_add(plan, OP_JOB_DELETE);

        op->name = mem_strdup(view->job->name);
        op->uid = mem_strdup(view->job->uid);
        return;
    }

    bool may_be_mended = status_is_refusal(status);
    enum keep keep = keep_by_policy(view->job->spec.clean);
    struct verdict v = {.reason = json_str(status, "reason", "Completed")};
    char *text = stop_all(view, keep, may_be_mended ? RELEASE_FOR_NOW : RELEASE_FOR_GOOD, plan);

    read_ended(status, &v);
    decide_leftovers(view, may_be_mended ? &v : NULL, keep, plan, &text);
    mem_free(text);
    if (!has_records(view) && view->job->has_finalizer)
        plan_add(plan, OP_FINALIZER_REMOVE);
    v.state = str_eq(json_str(status, "launcherStatus", ""), "Completed") ? JOB_COMPLETED : JOB_FAILED;
    v.message = mem_strdup(json_str(status, "lastMessage", ""));
    v.succeeded = (uint32_t)json_i64(status, "workersStatus/succeeded", 0);
    v.failed = (uint32_t)json_i64(status, "workersStatus/failed", 0);
    if (json_i64(status, "desiredReplicas", 0) !=
        view->job->spec.instances) /* status follows, and it is told once */
        plan_event(plan, "ScaledAfterEnd",
                   "The job has ended; scaling it changes nothing. Create it anew to run it again", true);
    status_decide(view, status, &v, plan);
    verdict_release(&v);
}

/* Nothing is created, and nothing that an earlier spec made is touched. */
static void decide_invalid(const struct job_view *view, const cJSON *status, struct plan *plan)
{
    struct verdict v = {.state = JOB_FAILED, .reason = "InvalidSpec"};

    v.message = join(&view->job->problems);
    status_decide(view, status, &v, plan);
    verdict_release(&v);
}

/* ---- the ordinary course ---- */

struct tally {
    uint32_t phases[INSTANCE_FAILED + 1];
    struct instance_result
        first[INSTANCE_FAILED + 1]; /* of each phase, for its reason and text; texts owned */
    bool fatal, unanswered;
};

/* What only another spec can mend speaks first, then who has something to say at all. */
static bool says_more(const struct instance_result *result, const struct instance_result *than)
{
    if (result->is_fatal != than->is_fatal)
        return result->is_fatal;
    return result->text && !than->text;
}

static void tally_add(struct tally *tally, struct instance_result *result)
{
    enum instance_phase phase = result->phase;

    tally->unanswered = tally->unanswered || result->is_unanswered;
    tally->fatal = tally->fatal || (phase == INSTANCE_FAILED && result->is_fatal);
    if (tally->phases[phase]++ == 0 || says_more(result, &tally->first[phase])) {
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

static void add_result(const struct instance_view *inst, struct instance_result *result, struct verdict *v)
{
    if (result->is_stuck && !v->stuck_at)
        v->stuck_at = mem_strdup(result->text);
    v->has_begun = v->has_begun || (inst->record && result->phase != INSTANCE_WAITING);
    v->with_partition += result->has_partition;
    v->has_silent_controller = v->has_silent_controller || result->has_silent_controller;
    v->active += result->active;
    v->succeeded += result->succeeded;
    v->failed += result->failed;
}

static enum turnover turnover_of(const struct rollout *rollout, uint32_t index)
{
    if (!indexset_has(&rollout->replace, index))
        return TURNOVER_NONE;
    return rollout->may_start ? TURNOVER_REPLACE : TURNOVER_STOP;
}

static void decide_instances(const struct job_view *view, const struct rollout *rollout, struct verdict *v,
                             struct plan *plan, struct tally *tally)
{
    v->all_partitions = view->instance_count > 0;
    for (size_t i = 0; i < view->instance_count; i++) {
        const struct instance_view *inst = &view->instances[i];
        struct instance_result result = {0};

        if (indexset_has(&v->done, inst->index) || indexset_has(&v->broken, inst->index)) {
            mem_free(instance_stop(view, inst, KEEP_FINISHED, RELEASE_FOR_GOOD, plan));
            instance_count_pods(view, inst, &result);
            result.phase = indexset_has(&v->done, inst->index) ? INSTANCE_DONE : INSTANCE_FAILED;
        } else {
            instance_decide(view, inst, turnover_of(rollout, inst->index), plan, &result);
            if (result.phase == INSTANCE_DONE)
                indexset_add(&v->done, inst->index);
            if (result.phase == INSTANCE_FAILED && !result.is_fatal)
                indexset_add(&v->broken, inst->index);
            if (result.failure.reason)
                verdict_add_failure(v, &result.failure);
            if (inst->record && inst->record->restarts > v->restarts)
                v->restarts = inst->record->restarts;
        }
        add_result(inst, &result, v);
        if (!result.has_partition && result.phase != INSTANCE_DONE)
            v->all_partitions = false;
        tally_add(tally, &result);
    }
}

/* Those that run beside while a template is rolled out. How they end says nothing about the job. Returns why
 * there is no room for them (owned), or NULL. */
static char *decide_surge(const struct job_view *view, const struct rollout *rollout, struct verdict *v,
                          struct plan *plan)
{
    char *waits = NULL;

    for (size_t i = view->instance_count; i < view_all(view); i++) {
        const struct instance_view *inst = &view->instances[i];
        struct instance_result result = {0};

        if (i - view->instance_count < rollout->surge)
            instance_decide(view, inst, turnover_of(rollout, inst->index), plan, &result);
        else
            result.text = instance_stop(view, inst, KEEP_NOTHING, RELEASE_FOR_GOOD, plan);
        add_result(inst, &result, v);
        if (result.phase == INSTANCE_WAITING && result.wait && !waits)
            waits = TAKE(result.text);
        mem_free(result.text);
    }
    return waits;
}

/* Which phase speaks for the whole job: what keeps it from running first. */
static const struct instance_result *spokesman(const struct tally *tally, enum job_state *ret_state)
{
    static const struct {
        enum instance_phase phase;
        enum job_state state;
    } order[] = {
        {INSTANCE_HOLDING, JOB_RESTARTING},
        {INSTANCE_RESTARTING, JOB_RESTARTING},
        {INSTANCE_STARTING, JOB_STARTING},
        {INSTANCE_WAITING, JOB_PENDING},
    };

    for (size_t i = 0; i < COUNT_OF(order); i++) {
        if (tally->phases[order[i].phase] == 0)
            continue;
        *ret_state = order[i].state;
        return &tally->first[order[i].phase];
    }
    return NULL;
}

static void conclude_end(const struct job_view *view, const struct tally *tally, struct verdict *v)
{
    const struct instance_result *failed = &tally->first[INSTANCE_FAILED];

    if (tally->phases[INSTANCE_FAILED] == 0) {
        v->state = JOB_COMPLETED;
        v->reason = "Completed";
        v->message = mem_strdup("All instances done");
        return;
    }
    v->state = JOB_FAILED;
    v->reason = failed->reason ? failed->reason : "InstanceFailed";
    if (failed->text && view->instance_count == 1)
        v->message = mem_strdup(failed->text);
    else
        v->message =
            mem_printf("%u of %zu instances failed%s%s", tally->phases[INSTANCE_FAILED], view->instance_count,
                       failed->text ? "; " : "; see status.failure", failed->text ? failed->text : "");
}

static void conclude(const struct job_view *view, const struct tally *tally, struct verdict *v)
{
    uint32_t ended = tally->phases[INSTANCE_DONE] + tally->phases[INSTANCE_FAILED];
    const struct instance_result *speaker = spokesman(tally, &v->state);

    v->running = tally->phases[INSTANCE_RUNNING];
    v->wait = tally->first[INSTANCE_WAITING].wait;
    if (view->instance_count == 0) {
        v->state = JOB_PENDING;
        v->reason = "NoInstances";
        v->message = mem_strdup("spec.jobInstances is 0; scale the job up to start it");
    } else if (tally->fatal) {
        v->state = JOB_FAILED;
        v->reason = tally->first[INSTANCE_FAILED].reason;
        v->message = mem_strdup(tally->first[INSTANCE_FAILED].text);
    } else if (ended == view->instance_count) {
        conclude_end(view, tally, v);
    } else if (speaker) {
        v->reason = speaker->reason;
        v->message = view->instance_count == 1
                         ? mem_strdup(speaker->text)
                         : mem_printf("%u of %zu instances running, %u done; %s", v->running,
                                      view->instance_count, tally->phases[INSTANCE_DONE], speaker->text);
        if (v->running && v->state != JOB_RESTARTING)
            v->state = JOB_RUNNING;
    } else {
        v->all_pods = true;
        v->state = JOB_RUNNING;
        v->reason = "Running";
        v->message = view->instance_count == 1
                         ? mem_strdup("Running on its IPUs")
                         : mem_printf("%u of %zu instances running, %u done", v->running,
                                      view->instance_count, tally->phases[INSTANCE_DONE]);
    }
}

static void tell_rollout(const struct job_view *view, const struct rollout *rollout, const char *waits,
                         struct verdict *v)
{
    char *before = v->message;

    if (rollout->outdated == 0 || v->state == JOB_COMPLETED || v->state == JOB_FAILED)
        return;
    if (view->job->spec.has_launcher)
        v->message =
            mem_printf("%s; the template has changed: to use it, suspend the job and resume it", before);
    else
        v->message = mem_printf("%s; %u of %u instances have the changed template%s%s", before,
                                rollout->updated, rollout->updated + rollout->outdated,
                                waits ? "; no spare partition for maxSurge: " : "", waits ? waits : "");
    mem_free(before);
}

static void decide_course(const struct job_view *view, const cJSON *status, struct plan *plan)
{
    struct verdict v = {0};
    struct tally tally = {0};
    AUTO(rollout) struct rollout rollout = {0};
    AUTO(mem) char *waits = NULL;
    char *text = NULL;

    if (!view->job->has_finalizer) {
        plan_add(plan, OP_FINALIZER_ADD); /* a write of its own, before anything outside is touched */
        for (size_t i = 0; i < view->instance_count; i++)
            plan_claim(plan, view->instances[i].index, false);
        return;
    }
    read_ended(status, &v);
    decide_leftovers(view, &v, KEEP_NOTHING, plan, &text);
    mem_free(text);
    rollout_decide(view, &v.done, &v.broken, &rollout);
    decide_instances(view, &rollout, &v, plan, &tally);
    waits = decide_surge(view, &rollout, &v, plan);
    if (v.active)
        decide_service(view, plan);
    conclude(view, &tally, &v);
    tell_rollout(view, &rollout, waits, &v);
    if (view->job->overrides_restart_policy &&
        json_i64(status, "observedGeneration", 0) != view->job->generation && !tally.unanswered)
        plan_event(plan, "RestartPolicyOverridden",
                   "spec.workers.template.spec.restartPolicy does not count: the pods get Never, and "
                   "spec.restartPolicy says whether the job is started again",
                   true);
    if (lifetime_limit(view, status, &v, plan) || !tally.unanswered)
        status_decide(view, status, &v, plan);
    tally_release(&tally);
    verdict_release(&v);
}

void job_decide(const struct job_view *view, struct plan *plan)
{
    const struct job *job = view->job;
    char *text = NULL;

    if (!job || !is_ours(job)) {
        decide_leftovers(view, NULL, KEEP_FINISHED, plan, &text);
        mem_free(text);
        return;
    }

    struct err err = {0};
    AUTO(json) cJSON *status = json_parse(slice_of(job->status_json), &err);

    if (job->deleting) {
        if (job->has_finalizer)
            decide_deletion(view, status, plan);
    } else if (status_is_finished(status) && !status_is_stale_refusal(status, job->generation)) {
        decide_finished(view, status, plan);
    } else if (job->problems.count) {
        decide_invalid(view, status, plan);
    } else if (job->spec.suspend) {
        decide_suspended(view, status, plan);
    } else {
        decide_course(view, status, plan);
    }
}
