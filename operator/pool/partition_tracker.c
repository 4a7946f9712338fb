#include "base/core/backoff.h"
#include "base/core/mem.h"
#include "operator/pool/partition_key.h"
#include "operator/pool/pool_internal.h"

/* An acknowledged write without effect is sent again after this time. */
#define AWAIT_MS 10000
/* For a reset that V-IPU has acknowledged without reporting progress. */
#define AWAIT_RESET_MS 60000

static void report_partition(struct partition_tracker *tracker)
{
    tracker->view.trouble = tracker->trouble;
    tracker->view.busy = tracker->call != NULL || tracker->await != AWAIT_NOTHING;
    tracker->controller->pool->options.on_partition(tracker->controller->pool->options.ctx,
                                                    tracker->controller->public.config->name, tracker->id);
}

/* ---- lists ---- */

static enum partition_state state_of(const struct vipu_partition *listed)
{
    if (!listed)
        return PARTITION_ABSENT;
    switch (listed->ready_state) {
    case VIPU_READY_ACTIVE:
        return PARTITION_ACTIVE;
    case VIPU_READY_ERROR:
        return PARTITION_ERROR;
    case VIPU_READY_UNDEFINED:
    case VIPU_READY_PENDING:
    case VIPU_READY_REMOVED: /* on its way out; it is gone when it is not listed any more */
        break;
    }
    return PARTITION_PENDING;
}

static void on_status(void *ctx, const struct vipu_result *result, struct vipu_status *status);

static void request_status(struct partition_tracker *tracker)
{
    if (!tracker->status_call)
        tracker->status_call = vipu_get_partition_status(tracker->controller->client, tracker->id,
                                                         POOL_DEADLINE_MS, on_status, tracker);
}

static void schedule_retry(struct partition_tracker *tracker)
{
    static const struct backoff retry_backoff = {.first_ms = 500, .max_ms = 15000};

    tracker->failures++;
    tracker->view.retry_at_ms = controller_now_ms(tracker->controller) +
                                backoff_delay_ms(&retry_backoff, tracker->failures, loop_random_u32());
}

static void end_await(struct partition_tracker *tracker, bool is_fresh)
{
    tracker->await = AWAIT_NOTHING;
    tracker->failures = 0;
    tracker->view.fresh = tracker->view.fresh || is_fresh;
    if (is_fresh) {
        tracker->view.resets_failing_since_ms = 0;
        mem_set_str(&tracker->trouble, NULL);
    }
}

static void note_failed_reset(struct partition_tracker *tracker)
{
    if (!tracker->view.resets_failing_since_ms)
        tracker->view.resets_failing_since_ms = controller_now_ms(tracker->controller);
}

/* V-IPU accepted the write, but it failed: back off, because a broken partition fails immediately each time.
 */
static void end_await_in_error(struct partition_tracker *tracker)
{
    if (tracker->await == AWAIT_RESET)
        note_failed_reset(tracker);
    tracker->await = AWAIT_NOTHING;
    schedule_retry(tracker);
}

/* The reconciler repeats an acknowledged write that has no effect. */
static void check_await_timeout(struct partition_tracker *tracker)
{
    if (tracker->await == AWAIT_NOTHING || controller_now_ms(tracker->controller) < tracker->await_until_ms)
        return;
    if (tracker->await == AWAIT_RESET)
        end_await_in_error(tracker);
    else
        tracker->await = AWAIT_NOTHING;
}

/* An unanswered reset could still hit pods that are started on the partition now. */
static bool may_still_be_reset(const struct partition_tracker *tracker)
{
    return controller_now_ms(tracker->controller) < tracker->late_reset_until_ms;
}

static void update_await(struct partition_tracker *tracker)
{
    enum partition_state state = tracker->view.state;

    switch (tracker->await) {
    case AWAIT_NOTHING:
        return;
    case AWAIT_ACTIVE:
        if (state == PARTITION_ACTIVE && may_still_be_reset(tracker))
            return;
        if (state == PARTITION_ACTIVE)
            end_await(tracker, true);
        else if (state == PARTITION_ERROR)
            end_await_in_error(tracker);
        break;
    case AWAIT_RESET: /* a list does not contain the operation state */
        if (state == PARTITION_ABSENT)
            end_await(tracker, false); /* it was removed by others meanwhile */
        else
            request_status(tracker);
        break;
    case AWAIT_GONE:
        if (state == PARTITION_ABSENT && tracker->status_says_gone)
            end_await(tracker, false);
        else if (state == PARTITION_ABSENT)
            request_status(tracker);
        break;
    }
    check_await_timeout(tracker);
}

static void note_health(struct partition_tracker *tracker, enum partition_state now)
{
    if (now == PARTITION_ERROR || now == PARTITION_ACTIVE || now == PARTITION_ABSENT)
        tracker->view.is_broken = now == PARTITION_ERROR;
    if (now == PARTITION_ABSENT)
        tracker->view.resets_failing_since_ms = 0;
}

/* The first list that shows a partition of this process shows whether its controller honours places. */
static void check_place(const struct partition_tracker *tracker, const struct vipu_partition *listed)
{
    struct controller *c = tracker->controller;
    AUTO(vipu_pool_view) struct vipu_pool_view view = {0};
    AUTO(mem) struct vipu_pool_part *parts = mem_alloc((listed->size + 1) * sizeof(*parts));
    struct vipu_pool_part place;

    if (!tracker->has_sent_place && !tracker->is_place_rejected)
        return;
    view = vipu_pool_view_of(&c->listed, (struct vipu_pool_shape){.total_ipus = c->public.total_ipus});
    if (vipu_pool_part_of(&view, tracker->place, listed->size, &place) &&
        vipu_pool_parts(&view, listed, parts) == 1 && parts[0].domain == place.domain &&
        parts[0].domain_count == place.domain_count && parts[0].ipus == place.ipus)
        controller_note_placed(c, true, false);
    else if (view.placed)
        controller_note_placed(c, false, tracker->is_place_rejected);
}

static void apply_listed(struct partition_tracker *tracker, const struct vipu_partition *listed)
{
    enum partition_state before = tracker->view.state, now = state_of(listed);
    bool was_busy = tracker->view.busy;
    bool was_fresh = tracker->view.fresh;

    /* It is there before we have ever asked for it. */
    if (listed && tracker->is_ours_fresh && tracker->sends == 0)
        tracker->view.rejection = PARTITION_REJECTED_FOREIGN;
    /* Not active, and its pods were never all there: none of them was created, for they need it active. */
    if (now != PARTITION_ACTIVE && now != PARTITION_ERROR && !tracker->started)
        tracker->view.quiet = true;
    if (now == PARTITION_ACTIVE && tracker->view.quiet && !tracker->started &&
        tracker->await == AWAIT_NOTHING && !may_still_be_reset(tracker) &&
        (tracker->created_in_run || before == PARTITION_PENDING))
        tracker->view.fresh = true;
    if (listed && tracker->view.made && !tracker->was_seen)
        check_place(tracker, listed);
    tracker->was_seen = tracker->was_seen || listed;
    if (now != before)
        tracker->view.since_ms = controller_now_ms(tracker->controller);
    tracker->view.state = now;
    note_health(tracker, now);
    tracker->view.size = listed ? listed->size : 0;
    tracker->view.gcds = listed ? listed->num_gcds : 0;
    update_await(tracker);
    if (now == PARTITION_ERROR && before != PARTITION_ERROR)
        request_status(tracker);
    if (now != before || was_fresh != tracker->view.fresh ||
        was_busy != (tracker->call != NULL || tracker->await != AWAIT_NOTHING))
        report_partition(tracker);
}

void partition_tracker_observe(struct partition_tracker *tracker, const struct vipu_partition *listed,
                               int64_t begun_ms)
{
    if (tracker->call || begun_ms <= tracker->last_write_ms)
        return; /* this list may be older than our own write */
    apply_listed(tracker, listed);
    if (tracker->view.outcome_unknown && begun_ms > tracker->view.settle_at_ms) {
        tracker->view.outcome_unknown = false;
        report_partition(tracker);
    }
}

/* ---- writes ---- */

static void note_failure(struct partition_tracker *tracker, const struct err *err)
{
    mem_set_str(&tracker->trouble, err->msg);
    schedule_retry(tracker);
}

static void note_unknown(struct partition_tracker *tracker)
{
    partition_tracker_note_pending_pod(tracker, tracker->sent_ms + POOL_DEADLINE_MS + POOL_STRAY_MS);
}

static void start_await(struct partition_tracker *tracker, enum await await)
{
    tracker->await = await;
    tracker->await_until_ms =
        controller_now_ms(tracker->controller) + (await == AWAIT_RESET ? AWAIT_RESET_MS : AWAIT_MS);
    tracker->status_says_gone = false;
}

/* After each write: only a list that begins from now on shows its effect. */
static void end_write(struct partition_tracker *tracker)
{
    tracker->call = NULL;
    tracker->last_write_ms = controller_now_ms(tracker->controller);
    tracker->view.state = tracker->await == AWAIT_RESET ? tracker->view.state : PARTITION_UNKNOWN;
    controller_poll_soon(tracker->controller);
    report_partition(tracker);
}

/* A place may be in use by a partition that no list shows yet, or that is of another owner and hidden. Others
 * may be free, so that it is asked for without before its job goes back to the queue. */
static void note_busy(struct partition_tracker *tracker)
{
    if (tracker->has_sent_place)
        tracker->is_place_busy = true;
    else
        tracker->view.rejection = PARTITION_REJECTED_CAPACITY;
}

static void on_created(void *ctx, const struct vipu_result *result, const char *id)
{
    struct partition_tracker *tracker = ctx;

    (void)id;
    controller_count(tracker->controller, POOL_CREATE, result);
    if (result->err.kind == ERR_NONE) {
        start_await(tracker, AWAIT_ACTIVE);
        tracker->view.made = true;
        mem_set_str(&tracker->trouble, NULL);
    } else if (result->err.kind == ERR_EXISTS) {
        if (tracker->sends == 1 && tracker->is_ours_fresh)
            tracker->view.rejection = PARTITION_REJECTED_FOREIGN;
        else
            start_await(tracker, AWAIT_ACTIVE);
    } else {
        note_failure(tracker, &result->err);
        if (vipu_result_is_unknown(result))
            note_unknown(tracker);
        else if (result->sent && result->err.kind == ERR_BUSY)
            note_busy(tracker);
        else if (result->sent && result->err.kind == ERR_INVALID && tracker->has_sent_place)
            tracker->is_place_rejected = true; /* some of its IPUs may have failed: it is asked for without */
        else if (result->sent &&
                 result->err.kind != ERR_DENIED) /* an admin mends that: it is asked for again */
            tracker->view.rejection = PARTITION_REJECTED_INVALID;
    }
    end_write(tracker);
}

static void on_reset(void *ctx, const struct vipu_result *result)
{
    struct partition_tracker *tracker = ctx;

    controller_count(tracker->controller, POOL_RESET, result);
    if (result->err.kind == ERR_NONE) {
        start_await(tracker, AWAIT_RESET);
    } else {
        note_failure(tracker, &result->err);
        if (vipu_result_is_unknown(result)) {
            note_unknown(tracker);
            tracker->late_reset_until_ms = tracker->view.settle_at_ms;
        } else if (result->sent) {
            note_failed_reset(tracker);
        }
    }
    end_write(tracker);
}

static void on_removed(void *ctx, const struct vipu_result *result)
{
    struct partition_tracker *tracker = ctx;
    bool gate_closed = !result->sent;

    controller_count(tracker->controller, POOL_REMOVE, result);
    if (vipu_result_is_unknown(result))
        note_unknown(tracker);
    if (result->err.kind != ERR_NONE && result->err.kind != ERR_NOT_FOUND)
        note_failure(tracker, &result->err);
    if (!gate_closed)
        start_await(tracker, AWAIT_GONE);
    end_write(tracker);
}

/* The partition's own status: the end of a reset, the proof of a removal, the reasons of an error. */
static void on_status(void *ctx, const struct vipu_result *result, struct vipu_status *status)
{
    struct partition_tracker *tracker = ctx;
    bool answered = result->sent && result->err.kind != ERR_TIMEOUT && result->err.kind != ERR_IO;

    tracker->status_call = NULL;
    controller_count(tracker->controller, POOL_STATUS, result);
    if (tracker->await == AWAIT_GONE && answered &&
        (result->err.kind != ERR_NONE || status->ready_state == VIPU_READY_REMOVED)) {
        tracker->status_says_gone = true;
        tracker->last_write_ms =
            controller_now_ms(tracker->controller); /* the list that confirms it must begin later */
        tracker->view.state = PARTITION_UNKNOWN;
        controller_poll_soon(tracker->controller);
        return;
    }
    if (result->err.kind != ERR_NONE) {
        if (tracker->await == AWAIT_RESET)
            mem_set_str(&tracker->trouble, result->err.msg);
        report_partition(tracker);
        return;
    }
    if (tracker->await == AWAIT_RESET) {
        if (status->operation_state == VIPU_OPERATION_RESETTING ||
            status->ready_state == VIPU_READY_PENDING) {
            start_await(tracker, AWAIT_RESET); /* keep waiting, however long the reset takes */
            return;
        }
        if (may_still_be_reset(tracker))
            return;
        if (status->ready_state == VIPU_READY_ACTIVE)
            end_await(tracker, true);
        else
            end_await_in_error(tracker);
        report_partition(tracker);
    }
    if (status->error_count) {
        mem_set_str(&tracker->trouble, status->errors[0]);
        report_partition(tracker);
    }
}

/* ---- life cycle ---- */

struct partition_tracker *partition_tracker_new(struct controller *c, const struct pool_track *track)
{
    struct partition_tracker *tracker = NEW(struct partition_tracker);
    int64_t stray_until_ms = controller_now_ms(c) + POOL_DEADLINE_MS + POOL_STRAY_MS;

    tracker->controller = c;
    tracker->id = mem_strdup(track->id);
    tracker->job_uid = mem_strdup(track->job_uid);
    tracker->place = mem_strdup(track->place);
    tracker->is_ours_fresh = track->is_ours_fresh;
    tracker->view.quiet = track->is_ours_fresh;
    tracker->last_write_ms = controller_now_ms(c);
    mem_set_str(&tracker->trouble, c->public.trouble);
    tracker->view.trouble = tracker->trouble;
    if (!track->is_ours_fresh)
        tracker->view.removal_until_ms = stray_until_ms;
    if (track->is_unsettled) {
        tracker->view.outcome_unknown = true;
        tracker->view.settle_at_ms = stray_until_ms;
        tracker->late_reset_until_ms = track->may_be_reset ? tracker->view.settle_at_ms : 0;
    }
    return tracker;
}

void partition_tracker_free(struct partition_tracker *tracker)
{
    vipu_call_cancel(tracker->call);
    vipu_call_cancel(tracker->status_call);
    mem_free(tracker->id);
    mem_free(tracker->job_uid);
    mem_free(tracker->place);
    mem_free(tracker->trouble);
    mem_free(tracker);
}

void partition_tracker_set_unavailable(struct partition_tracker *tracker, const char *trouble)
{
    if (tracker->view.state == PARTITION_UNKNOWN || tracker->await != AWAIT_NOTHING)
        mem_set_str(&tracker->trouble, trouble);
    report_partition(tracker);
}

bool partition_tracker_is_in_flight(const struct partition_tracker *tracker)
{
    return tracker->call || tracker->await != AWAIT_NOTHING || tracker->view.state == PARTITION_UNKNOWN ||
           tracker->view.state == PARTITION_PENDING;
}

/* ---- requests ---- */

void partition_tracker_note_pending_pod(struct partition_tracker *tracker, int64_t until_ms)
{
    tracker->view.outcome_unknown = true;
    if (until_ms > tracker->view.settle_at_ms)
        tracker->view.settle_at_ms = until_ms;
}

/* NULL: the partition gets no user of its own. */
static char *derive_key(const struct partition_tracker *tracker)
{
    const char *secret = tracker->controller->controller_secret.partition_secret;

    return secret ? partition_key_derive(secret, tracker->id, tracker->job_uid) : NULL;
}

/* A controller chooses the IPUs itself, unless they are listed: then it has to be told their cluster, too.
 * False: the controller chooses. */
static bool avoid_cordon(const struct controller *c, struct vipu_requirements *requirements,
                         struct vipu_ipu *ipus, char **ret_cluster)
{
    AUTO(vipu_pool_view) struct vipu_pool_view view = {0};
    const char *cluster;

    if (c->public.cordon.domains.count == 0)
        return false;
    view = controller_unsent_capacity(c);
    cluster = vipu_pool_find(&view, requirements->size, ipus);
    if (!cluster || !*cluster)
        return false;
    *ret_cluster = mem_strdup(cluster);
    requirements->cluster_id = *ret_cluster;
    requirements->ipus = ipus;
    requirements->ipu_count = requirements->size;
    return true;
}

/* False: the controller chooses. As it does for the first partition where no name of a cluster is known yet:
 * a list of IPUs goes with the name of theirs. */
static bool list_place(const struct partition_tracker *tracker, struct vipu_requirements *requirements,
                       struct vipu_ipu *ipus, char **ret_cluster)
{
    const struct controller *c = tracker->controller;
    AUTO(vipu_pool_view) struct vipu_pool_view view = {0};
    struct vipu_pool_part part;

    if (!tracker->place || tracker->is_place_busy || tracker->is_place_rejected || c->public.chooses)
        return false;
    view = vipu_pool_view_of(&c->listed, (struct vipu_pool_shape){.total_ipus = c->public.total_ipus});
    if (!vipu_pool_part_of(&view, tracker->place, requirements->size, &part))
        return false;
    *ret_cluster = mem_strdup(vipu_pool_part_ipus(&view, &part, ipus));
    if (!**ret_cluster)
        return false;
    requirements->cluster_id = *ret_cluster;
    requirements->ipus = ipus;
    requirements->ipu_count = requirements->size;
    return true;
}

void partition_tracker_create(struct partition_tracker *tracker, const struct vipu_requirements *requirements)
{
    struct vipu_requirements with_key = *requirements;
    AUTO(mem) struct vipu_ipu *ipus = mem_alloc((requirements->size + 1) * sizeof(*ipus));
    AUTO(mem) char *cluster = NULL;
    char *key;

    if (tracker->call)
        return;
    tracker->has_sent_place = list_place(tracker, &with_key, ipus, &cluster);
    if (!tracker->has_sent_place)
        (void)avoid_cordon(tracker->controller, &with_key, ipus, &cluster);
    tracker->sends++;
    tracker->created_in_run = true;
    tracker->sent_ms = controller_now_ms(tracker->controller);
    tracker->view.rejection = PARTITION_NOT_REJECTED;
    with_key.access_key = key = derive_key(tracker);
    tracker->call =
        vipu_create_partition(tracker->controller->client, &with_key, POOL_DEADLINE_MS, on_created, tracker);
    tracker->view.busy = true;
    mem_free_secret(key);
}

void partition_tracker_reset(struct partition_tracker *tracker)
{
    char *key;

    if (tracker->call)
        return;
    tracker->sent_ms = controller_now_ms(tracker->controller);
    key = derive_key(tracker);
    tracker->call = vipu_reset_partition(tracker->controller->client, tracker->id, false, key,
                                         POOL_DEADLINE_MS, on_reset, tracker);
    tracker->view.busy = true;
    mem_free_secret(key);
}

void partition_tracker_remove(struct partition_tracker *tracker)
{
    if (tracker->call)
        return;
    tracker->sent_ms = controller_now_ms(tracker->controller);
    tracker->call = vipu_remove_partition(tracker->controller->client, tracker->id, true, POOL_DEADLINE_MS,
                                          on_removed, tracker);
    tracker->view.busy = true;
}
