#include "base/core/backoff.h"
#include "base/core/mem.h"
#include "operator/pool/pool_internal.h"

/* An acknowledged write without effect is sent again after this time. */
#define AWAIT_MS 10000
/* For a reset that V-IPU has acknowledged without reporting progress. */
#define AWAIT_RESET_MS 60000

static void report_partition(struct partition_tracker *partition_tracker)
{
    partition_tracker->view.trouble = partition_tracker->trouble;
    partition_tracker->view.busy =
        partition_tracker->call != NULL || partition_tracker->await != AWAIT_NOTHING;
    partition_tracker->controller->pool->options.on_part(partition_tracker->controller->pool->options.ctx,
                                                         partition_tracker->controller->face.config->name,
                                                         partition_tracker->id);
}

/* ---- lists ---- */

static enum partition_state state_of(const struct vipu_partition *listed)
{
    if (!listed)
        return PART_ABSENT;
    switch (listed->ready_state) {
    case VIPU_READY_ACTIVE:
        return PART_ACTIVE;
    case VIPU_READY_ERROR:
        return PART_ERROR;
    case VIPU_READY_UNDEFINED:
    case VIPU_READY_PENDING:
    case VIPU_READY_REMOVED: /* on its way out; it is gone when it is not listed any more */
        break;
    }
    return PART_PENDING;
}

static void on_status(void *ctx, const struct vipu_result *result, struct vipu_status *status);

static void request_status(struct partition_tracker *partition_tracker)
{
    if (!partition_tracker->status_call)
        partition_tracker->status_call =
            vipu_get_partition_status(partition_tracker->controller->client, partition_tracker->id,
                                      POOL_DEADLINE_MS, on_status, partition_tracker);
}

static void schedule_retry(struct partition_tracker *partition_tracker)
{
    static const struct backoff retry_backoff = {.first_ms = 500, .max_ms = 15000};

    partition_tracker->failures++;
    partition_tracker->view.retry_at_ms =
        controller_now_ms(partition_tracker->controller) +
        backoff_delay_ms(&retry_backoff, partition_tracker->failures, loop_random_u32());
}

static void end_await(struct partition_tracker *partition_tracker, bool is_fresh)
{
    partition_tracker->await = AWAIT_NOTHING;
    partition_tracker->failures = 0;
    partition_tracker->view.fresh = partition_tracker->view.fresh || is_fresh;
    if (is_fresh) {
        partition_tracker->view.resets_failing_since_ms = 0;
        mem_set_str(&partition_tracker->trouble, NULL);
    }
}

static void note_failed_reset(struct partition_tracker *partition_tracker)
{
    if (!partition_tracker->view.resets_failing_since_ms)
        partition_tracker->view.resets_failing_since_ms = controller_now_ms(partition_tracker->controller);
}

/* V-IPU accepted the write, but it failed: back off, because a broken partition fails immediately each time.
 */
static void end_await_in_error(struct partition_tracker *partition_tracker)
{
    if (partition_tracker->await == AWAIT_RESET)
        note_failed_reset(partition_tracker);
    partition_tracker->await = AWAIT_NOTHING;
    schedule_retry(partition_tracker);
}

/* The reconciler repeats an acknowledged write that has no effect. */
static void check_await_timeout(struct partition_tracker *partition_tracker)
{
    if (partition_tracker->await == AWAIT_NOTHING ||
        controller_now_ms(partition_tracker->controller) < partition_tracker->await_until_ms)
        return;
    if (partition_tracker->await == AWAIT_RESET)
        end_await_in_error(partition_tracker);
    else
        partition_tracker->await = AWAIT_NOTHING;
}

/* An unanswered reset could still hit pods that are started on the partition now. */
static bool may_still_be_reset(const struct partition_tracker *partition_tracker)
{
    return controller_now_ms(partition_tracker->controller) < partition_tracker->late_reset_until_ms;
}

static void update_await(struct partition_tracker *partition_tracker)
{
    enum partition_state state = partition_tracker->view.state;

    switch (partition_tracker->await) {
    case AWAIT_NOTHING:
        return;
    case AWAIT_ACTIVE:
        if (state == PART_ACTIVE && may_still_be_reset(partition_tracker))
            return;
        if (state == PART_ACTIVE)
            end_await(partition_tracker, true);
        else if (state == PART_ERROR)
            end_await_in_error(partition_tracker);
        break;
    case AWAIT_RESET: /* a list does not contain the operation state */
        if (state == PART_ABSENT)
            end_await(partition_tracker, false); /* it was removed by others meanwhile */
        else
            request_status(partition_tracker);
        break;
    case AWAIT_GONE:
        if (state == PART_ABSENT && partition_tracker->status_says_gone)
            end_await(partition_tracker, false);
        else if (state == PART_ABSENT)
            request_status(partition_tracker);
        break;
    }
    check_await_timeout(partition_tracker);
}

static void note_health(struct partition_tracker *partition_tracker, enum partition_state now)
{
    if (now == PART_ERROR || now == PART_ACTIVE || now == PART_ABSENT)
        partition_tracker->view.is_broken = now == PART_ERROR;
    if (now == PART_ABSENT)
        partition_tracker->view.resets_failing_since_ms = 0;
}

static void apply_listed(struct partition_tracker *partition_tracker, const struct vipu_partition *listed)
{
    enum partition_state before = partition_tracker->view.state, now = state_of(listed);
    bool was_busy = partition_tracker->view.busy;
    bool was_fresh = partition_tracker->view.fresh;

    /* It is there before we have ever asked for it. */
    if (listed && partition_tracker->is_ours_fresh && partition_tracker->sends == 0)
        partition_tracker->view.refusal = PART_REFUSED_FOREIGN;
    /* Not active, and its pods were never all there: none of them was created, for they need it active. */
    if (now != PART_ACTIVE && now != PART_ERROR && !partition_tracker->started)
        partition_tracker->view.quiet = true;
    if (now == PART_ACTIVE && partition_tracker->view.quiet && !partition_tracker->started &&
        partition_tracker->await == AWAIT_NOTHING && !may_still_be_reset(partition_tracker) &&
        (partition_tracker->created_in_run || before == PART_PENDING))
        partition_tracker->view.fresh = true;
    if (now != before)
        partition_tracker->view.since_ms = controller_now_ms(partition_tracker->controller);
    partition_tracker->view.state = now;
    note_health(partition_tracker, now);
    partition_tracker->view.size = listed ? listed->size : 0;
    partition_tracker->view.gcds = listed ? listed->num_gcds : 0;
    update_await(partition_tracker);
    if (now == PART_ERROR && before != PART_ERROR)
        request_status(partition_tracker);
    if (now != before || was_fresh != partition_tracker->view.fresh ||
        was_busy != (partition_tracker->call != NULL || partition_tracker->await != AWAIT_NOTHING))
        report_partition(partition_tracker);
}

void partition_tracker_observe(struct partition_tracker *partition_tracker,
                               const struct vipu_partition *listed, int64_t begun_ms)
{
    if (partition_tracker->call || begun_ms <= partition_tracker->last_write_ms)
        return; /* this list may be older than our own write */
    apply_listed(partition_tracker, listed);
    if (partition_tracker->view.outcome_unknown && begun_ms > partition_tracker->view.settle_at_ms) {
        partition_tracker->view.outcome_unknown = false;
        report_partition(partition_tracker);
    }
}

/* ---- writes ---- */

static void note_failure(struct partition_tracker *partition_tracker, const struct err *err)
{
    mem_set_str(&partition_tracker->trouble, err->msg);
    schedule_retry(partition_tracker);
}

static void note_unknown(struct partition_tracker *partition_tracker)
{
    partition_tracker_note_pending_pod(partition_tracker,
                                       partition_tracker->sent_ms + POOL_DEADLINE_MS + POOL_STRAY_MS);
}

static void start_await(struct partition_tracker *partition_tracker, enum await await)
{
    partition_tracker->await = await;
    partition_tracker->await_until_ms =
        controller_now_ms(partition_tracker->controller) + (await == AWAIT_RESET ? AWAIT_RESET_MS : AWAIT_MS);
    partition_tracker->status_says_gone = false;
}

/* After each write: only a list that begins from now on shows its effect. */
static void end_write(struct partition_tracker *partition_tracker)
{
    partition_tracker->call = NULL;
    partition_tracker->last_write_ms = controller_now_ms(partition_tracker->controller);
    partition_tracker->view.state =
        partition_tracker->await == AWAIT_RESET ? partition_tracker->view.state : PART_UNKNOWN;
    controller_poll_soon(partition_tracker->controller);
    report_partition(partition_tracker);
}

static void on_created(void *ctx, const struct vipu_result *result, const char *id)
{
    struct partition_tracker *partition_tracker = ctx;

    (void)id;
    controller_count(partition_tracker->controller, POOL_CREATE, result);
    if (result->err.kind == ERR_NONE) {
        start_await(partition_tracker, AWAIT_ACTIVE);
        partition_tracker->view.made = true;
        mem_set_str(&partition_tracker->trouble, NULL);
    } else if (result->err.kind == ERR_EXISTS) {
        if (partition_tracker->sends == 1 && partition_tracker->is_ours_fresh)
            partition_tracker->view.refusal = PART_REFUSED_FOREIGN;
        else
            start_await(partition_tracker, AWAIT_ACTIVE);
    } else {
        note_failure(partition_tracker, &result->err);
        if (vipu_result_is_unknown(result))
            note_unknown(partition_tracker);
        else if (result->sent && result->err.kind == ERR_BUSY)
            partition_tracker->view.refusal = PART_REFUSED_ROOM;
        else if (result->sent &&
                 result->err.kind != ERR_DENIED) /* an admin mends that: it is asked for again */
            partition_tracker->view.refusal = PART_REFUSED_INVALID;
    }
    end_write(partition_tracker);
}

static void on_reset(void *ctx, const struct vipu_result *result)
{
    struct partition_tracker *partition_tracker = ctx;

    controller_count(partition_tracker->controller, POOL_RESET, result);
    if (result->err.kind == ERR_NONE) {
        start_await(partition_tracker, AWAIT_RESET);
    } else {
        note_failure(partition_tracker, &result->err);
        if (vipu_result_is_unknown(result)) {
            note_unknown(partition_tracker);
            partition_tracker->late_reset_until_ms = partition_tracker->view.settle_at_ms;
        } else if (result->sent) {
            note_failed_reset(partition_tracker);
        }
    }
    end_write(partition_tracker);
}

static void on_removed(void *ctx, const struct vipu_result *result)
{
    struct partition_tracker *partition_tracker = ctx;
    bool gate_closed = !result->sent;

    controller_count(partition_tracker->controller, POOL_REMOVE, result);
    if (vipu_result_is_unknown(result))
        note_unknown(partition_tracker);
    if (result->err.kind != ERR_NONE && result->err.kind != ERR_NOT_FOUND)
        note_failure(partition_tracker, &result->err);
    if (!gate_closed)
        start_await(partition_tracker, AWAIT_GONE);
    end_write(partition_tracker);
}

/* The partition's own status: the end of a reset, the proof of a removal, the reasons of an error. */
static void on_status(void *ctx, const struct vipu_result *result, struct vipu_status *status)
{
    struct partition_tracker *partition_tracker = ctx;
    bool answered = result->sent && result->err.kind != ERR_TIMEOUT && result->err.kind != ERR_IO;

    partition_tracker->status_call = NULL;
    controller_count(partition_tracker->controller, POOL_STATUS, result);
    if (partition_tracker->await == AWAIT_GONE && answered &&
        (result->err.kind != ERR_NONE || status->ready_state == VIPU_READY_REMOVED)) {
        partition_tracker->status_says_gone = true;
        partition_tracker->last_write_ms =
            controller_now_ms(partition_tracker->controller); /* the list that confirms it must begin later */
        partition_tracker->view.state = PART_UNKNOWN;
        controller_poll_soon(partition_tracker->controller);
        return;
    }
    if (result->err.kind != ERR_NONE) {
        if (partition_tracker->await == AWAIT_RESET)
            mem_set_str(&partition_tracker->trouble, result->err.msg);
        report_partition(partition_tracker);
        return;
    }
    if (partition_tracker->await == AWAIT_RESET) {
        if (status->operation_state == VIPU_OPERATION_RESETTING ||
            status->ready_state == VIPU_READY_PENDING) {
            start_await(partition_tracker, AWAIT_RESET); /* keep waiting, however long the reset takes */
            return;
        }
        if (may_still_be_reset(partition_tracker))
            return;
        if (status->ready_state == VIPU_READY_ACTIVE)
            end_await(partition_tracker, true);
        else
            end_await_in_error(partition_tracker);
        report_partition(partition_tracker);
    }
    if (status->error_count) {
        mem_set_str(&partition_tracker->trouble, status->errors[0]);
        report_partition(partition_tracker);
    }
}

/* ---- life cycle ---- */

struct partition_tracker *partition_tracker_new(struct controller *c, const struct pool_track *track)
{
    struct partition_tracker *partition_tracker = NEW(struct partition_tracker);
    int64_t stray_until_ms = controller_now_ms(c) + POOL_DEADLINE_MS + POOL_STRAY_MS;

    partition_tracker->controller = c;
    partition_tracker->id = mem_strdup(track->id);
    partition_tracker->is_ours_fresh = track->is_ours_fresh;
    partition_tracker->view.quiet = track->is_ours_fresh;
    partition_tracker->last_write_ms = controller_now_ms(c);
    if (!track->is_ours_fresh)
        partition_tracker->view.removal_until_ms = stray_until_ms;
    if (track->is_unsettled) {
        partition_tracker->view.outcome_unknown = true;
        partition_tracker->view.settle_at_ms = stray_until_ms;
        partition_tracker->late_reset_until_ms =
            track->may_be_reset ? partition_tracker->view.settle_at_ms : 0;
    }
    return partition_tracker;
}

void partition_tracker_free(struct partition_tracker *partition_tracker)
{
    vipu_call_cancel(partition_tracker->call);
    vipu_call_cancel(partition_tracker->status_call);
    mem_free(partition_tracker->id);
    mem_free(partition_tracker->trouble);
    mem_free(partition_tracker);
}

void partition_tracker_set_unavailable(struct partition_tracker *partition_tracker, const char *trouble)
{
    if (partition_tracker->view.state == PART_UNKNOWN)
        mem_set_str(&partition_tracker->trouble, trouble);
    report_partition(partition_tracker);
}

bool partition_tracker_is_in_flight(const struct partition_tracker *partition_tracker)
{
    return partition_tracker->call || partition_tracker->await != AWAIT_NOTHING ||
           partition_tracker->view.state == PART_UNKNOWN || partition_tracker->view.state == PART_PENDING;
}

/* ---- requests ---- */

void partition_tracker_note_pending_pod(struct partition_tracker *partition_tracker, int64_t until_ms)
{
    partition_tracker->view.outcome_unknown = true;
    if (until_ms > partition_tracker->view.settle_at_ms)
        partition_tracker->view.settle_at_ms = until_ms;
}

void partition_tracker_create(struct partition_tracker *partition_tracker,
                              const struct vipu_requirements *requirements)
{
    if (partition_tracker->call)
        return;
    partition_tracker->sends++;
    partition_tracker->created_in_run = true;
    partition_tracker->sent_ms = controller_now_ms(partition_tracker->controller);
    partition_tracker->view.refusal = PART_NOT_REFUSED;
    partition_tracker->call = vipu_create_partition(partition_tracker->controller->client, requirements,
                                                    POOL_DEADLINE_MS, on_created, partition_tracker);
    partition_tracker->view.busy = true;
}

void partition_tracker_reset(struct partition_tracker *partition_tracker)
{
    if (partition_tracker->call)
        return;
    partition_tracker->sent_ms = controller_now_ms(partition_tracker->controller);
    partition_tracker->call =
        vipu_reset_partition(partition_tracker->controller->client, partition_tracker->id, false,
                             POOL_DEADLINE_MS, on_reset, partition_tracker);
    partition_tracker->view.busy = true;
}

void partition_tracker_remove(struct partition_tracker *partition_tracker)
{
    if (partition_tracker->call)
        return;
    partition_tracker->sent_ms = controller_now_ms(partition_tracker->controller);
    partition_tracker->call =
        vipu_remove_partition(partition_tracker->controller->client, partition_tracker->id, true,
                              POOL_DEADLINE_MS, on_removed, partition_tracker);
    partition_tracker->view.busy = true;
}
