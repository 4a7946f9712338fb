#include "base/core/backoff.h"
#include "base/core/mem.h"
#include "operator/pool/state.h"

/* An acknowledged write that shows no effect for so long is sent again. */
#define AWAIT_MS 10000
/* A reset that V-IPU has acknowledged, and says nothing of. */
#define AWAIT_RESET_MS 60000

static void tell_part(struct tracked *tracked)
{
    tracked->view.trouble = tracked->trouble;
    tracked->view.busy = tracked->call != NULL || tracked->await != AWAIT_NOTHING;
    tracked->controller->pool->options.on_part(tracked->controller->pool->options.ctx,
                                               tracked->controller->face.config->name, tracked->id);
}

/* ---- what a list says ---- */

static enum part_state state_of(const struct vipu_partition *listed)
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

static void ask_status(struct tracked *tracked)
{
    if (!tracked->status_call)
        tracked->status_call = vipu_get_partition_status(tracked->controller->client, tracked->id,
                                                         POOL_DEADLINE_MS, on_status, tracked);
}

static void put_off_next(struct tracked *tracked)
{
    static const struct backoff patience = {.first_ms = 500, .max_ms = 15000};

    tracked->failures++;
    tracked->view.retry_at_ms =
        controller_now_ms(tracked->controller) + backoff_delay_ms(&patience, tracked->failures, loop_dice());
}

static void end_await(struct tracked *tracked, bool is_fresh)
{
    tracked->await = AWAIT_NOTHING;
    tracked->failures = 0;
    tracked->view.fresh = tracked->view.fresh || is_fresh;
    if (is_fresh) {
        tracked->view.in_vain_ms = 0;
        mem_set_str(&tracked->trouble, NULL);
    }
}

static void note_vain_reset(struct tracked *tracked)
{
    if (!tracked->view.in_vain_ms)
        tracked->view.in_vain_ms = controller_now_ms(tracked->controller);
}

/* V-IPU took the write, and it came to nothing: what is broken answers so each time, and at once. */
static void end_await_in_error(struct tracked *tracked)
{
    if (tracked->await == AWAIT_RESET)
        note_vain_reset(tracked);
    tracked->await = AWAIT_NOTHING;
    put_off_next(tracked);
}

/* An acknowledged write whose effect does not show is sent again by whoever decides. */
static void check_patience(struct tracked *tracked)
{
    if (tracked->await == AWAIT_NOTHING || controller_now_ms(tracked->controller) < tracked->await_until_ms)
        return;
    if (tracked->await == AWAIT_RESET)
        end_await_in_error(tracked);
    else
        tracked->await = AWAIT_NOTHING;
}

/* A reset that nobody answered could still hit the pods that are started on it now. */
static bool may_still_be_reset(const struct tracked *tracked)
{
    return controller_now_ms(tracked->controller) < tracked->stray_reset_ms;
}

static void follow_await(struct tracked *tracked)
{
    enum part_state state = tracked->view.state;

    switch (tracked->await) {
    case AWAIT_NOTHING:
        return;
    case AWAIT_ACTIVE:
        if (state == PART_ACTIVE && may_still_be_reset(tracked))
            return;
        if (state == PART_ACTIVE)
            end_await(tracked, true);
        else if (state == PART_ERROR)
            end_await_in_error(tracked);
        break;
    case AWAIT_RESET: /* a list does not tell the operation state */
        if (state == PART_ABSENT)
            end_await(tracked, false); /* somebody removed it meanwhile */
        else
            ask_status(tracked);
        break;
    case AWAIT_GONE:
        if (state == PART_ABSENT && tracked->status_says_gone)
            end_await(tracked, false);
        else if (state == PART_ABSENT)
            ask_status(tracked);
        break;
    }
    check_patience(tracked);
}

static void note_health(struct tracked *tracked, enum part_state now)
{
    if (now == PART_ERROR || now == PART_ACTIVE || now == PART_ABSENT)
        tracked->view.is_broken = now == PART_ERROR;
    if (now == PART_ABSENT)
        tracked->view.in_vain_ms = 0;
}

static void see(struct tracked *tracked, const struct vipu_partition *listed)
{
    enum part_state before = tracked->view.state, now = state_of(listed);
    bool was_busy = tracked->view.busy;
    bool was_fresh = tracked->view.fresh;

    /* It is there before we have ever asked for it. */
    if (listed && tracked->is_ours_fresh && tracked->sends == 0)
        tracked->view.refusal = PART_REFUSED_FOREIGN;
    /* Not active, and its pods were never all there: none of them was created, for they need it active. */
    if (now != PART_ACTIVE && now != PART_ERROR && !tracked->started)
        tracked->view.quiet = true;
    if (now == PART_ACTIVE && tracked->view.quiet && !tracked->started && tracked->await == AWAIT_NOTHING &&
        !may_still_be_reset(tracked) && (tracked->created_in_run || before == PART_PENDING))
        tracked->view.fresh = true;
    if (now != before)
        tracked->view.since_ms = controller_now_ms(tracked->controller);
    tracked->view.state = now;
    note_health(tracked, now);
    tracked->view.size = listed ? listed->size : 0;
    tracked->view.gcds = listed ? listed->num_gcds : 0;
    follow_await(tracked);
    if (now == PART_ERROR && before != PART_ERROR)
        ask_status(tracked);
    if (now != before || was_fresh != tracked->view.fresh ||
        was_busy != (tracked->call != NULL || tracked->await != AWAIT_NOTHING))
        tell_part(tracked);
}

void tracked_see(struct tracked *tracked, const struct vipu_partition *listed, int64_t begun_ms)
{
    if (tracked->call || begun_ms <= tracked->last_write_ms)
        return; /* this list may be older than our own write */
    see(tracked, listed);
    if (tracked->view.unsettled && begun_ms > tracked->view.settle_at_ms) {
        tracked->view.unsettled = false;
        tell_part(tracked);
    }
}

/* ---- writes ---- */

static void note_failure(struct tracked *tracked, const struct err *err)
{
    mem_set_str(&tracked->trouble, err->msg);
    put_off_next(tracked);
}

static void note_unknown(struct tracked *tracked)
{
    tracked_note_stray(tracked, tracked->sent_ms + POOL_DEADLINE_MS + POOL_STRAY_MS);
}

static void start_await(struct tracked *tracked, enum await await)
{
    tracked->await = await;
    tracked->await_until_ms =
        controller_now_ms(tracked->controller) + (await == AWAIT_RESET ? AWAIT_RESET_MS : AWAIT_MS);
    tracked->status_says_gone = false;
}

/* After each write's end: only a list that begins from now on tells what it did. */
static void end_write(struct tracked *tracked)
{
    tracked->call = NULL;
    tracked->last_write_ms = controller_now_ms(tracked->controller);
    tracked->view.state = tracked->await == AWAIT_RESET ? tracked->view.state : PART_UNKNOWN;
    controller_hurry(tracked->controller);
    tell_part(tracked);
}

static void on_created(void *ctx, const struct vipu_result *result, const char *id)
{
    struct tracked *tracked = ctx;

    (void)id;
    controller_count(tracked->controller, POOL_CREATE, result);
    if (result->err.kind == ERR_NONE) {
        start_await(tracked, AWAIT_ACTIVE);
        tracked->view.made = true;
        mem_set_str(&tracked->trouble, NULL);
    } else if (result->err.kind == ERR_EXISTS) {
        if (tracked->sends == 1 && tracked->is_ours_fresh)
            tracked->view.refusal = PART_REFUSED_FOREIGN;
        else
            start_await(tracked, AWAIT_ACTIVE);
    } else {
        note_failure(tracked, &result->err);
        if (vipu_result_is_unknown(result))
            note_unknown(tracked);
        else if (result->sent && result->err.kind == ERR_BUSY)
            tracked->view.refusal = PART_REFUSED_ROOM;
        else if (result->sent &&
                 result->err.kind != ERR_DENIED) /* an admin mends that: it is asked for again */
            tracked->view.refusal = PART_REFUSED_INVALID;
    }
    end_write(tracked);
}

static void on_reset(void *ctx, const struct vipu_result *result)
{
    struct tracked *tracked = ctx;

    controller_count(tracked->controller, POOL_RESET, result);
    if (result->err.kind == ERR_NONE) {
        start_await(tracked, AWAIT_RESET);
    } else {
        note_failure(tracked, &result->err);
        if (vipu_result_is_unknown(result)) {
            note_unknown(tracked);
            tracked->stray_reset_ms = tracked->view.settle_at_ms;
        } else if (result->sent) {
            note_vain_reset(tracked);
        }
    }
    end_write(tracked);
}

static void on_removed(void *ctx, const struct vipu_result *result)
{
    struct tracked *tracked = ctx;
    bool gate_closed = !result->sent;

    controller_count(tracked->controller, POOL_REMOVE, result);
    if (vipu_result_is_unknown(result))
        note_unknown(tracked);
    if (result->err.kind != ERR_NONE && result->err.kind != ERR_NOT_FOUND)
        note_failure(tracked, &result->err);
    if (!gate_closed)
        start_await(tracked, AWAIT_GONE);
    end_write(tracked);
}

/* The partition's own status: the end of a reset, the proof of a removal, the reasons of an error. */
static void on_status(void *ctx, const struct vipu_result *result, struct vipu_status *status)
{
    struct tracked *tracked = ctx;
    bool answered = result->sent && result->err.kind != ERR_TIMEOUT && result->err.kind != ERR_IO;

    tracked->status_call = NULL;
    controller_count(tracked->controller, POOL_STATUS, result);
    if (tracked->await == AWAIT_GONE && answered &&
        (result->err.kind != ERR_NONE || status->ready_state == VIPU_READY_REMOVED)) {
        tracked->status_says_gone = true;
        tracked->last_write_ms =
            controller_now_ms(tracked->controller); /* the list that confirms it must begin later */
        tracked->view.state = PART_UNKNOWN;
        controller_hurry(tracked->controller);
        return;
    }
    if (result->err.kind != ERR_NONE) {
        if (tracked->await == AWAIT_RESET)
            mem_set_str(&tracked->trouble, result->err.msg);
        tell_part(tracked);
        return;
    }
    if (tracked->await == AWAIT_RESET) {
        if (status->operation_state == VIPU_OPERATION_RESETTING ||
            status->ready_state == VIPU_READY_PENDING) {
            start_await(tracked, AWAIT_RESET); /* it goes on, however long it takes */
            return;
        }
        if (may_still_be_reset(tracked))
            return;
        if (status->ready_state == VIPU_READY_ACTIVE)
            end_await(tracked, true);
        else
            end_await_in_error(tracked);
        tell_part(tracked);
    }
    if (status->error_count) {
        mem_set_str(&tracked->trouble, status->errors[0]);
        tell_part(tracked);
    }
}

/* ---- life cycle ---- */

struct tracked *tracked_new(struct controller *c, const struct pool_track *track)
{
    struct tracked *tracked = NEW(struct tracked);
    int64_t stray_until_ms = controller_now_ms(c) + POOL_DEADLINE_MS + POOL_STRAY_MS;

    tracked->controller = c;
    tracked->id = mem_strdup(track->id);
    tracked->is_ours_fresh = track->is_ours_fresh;
    tracked->view.quiet = track->is_ours_fresh;
    tracked->last_write_ms = controller_now_ms(c);
    if (!track->is_ours_fresh)
        tracked->view.removal_until_ms = stray_until_ms;
    if (track->is_unsettled) {
        tracked->view.unsettled = true;
        tracked->view.settle_at_ms = stray_until_ms;
        tracked->stray_reset_ms = track->may_be_reset ? tracked->view.settle_at_ms : 0;
    }
    return tracked;
}

void tracked_free(struct tracked *tracked)
{
    vipu_call_cancel(tracked->call);
    vipu_call_cancel(tracked->status_call);
    mem_free(tracked->id);
    mem_free(tracked->trouble);
    mem_free(tracked);
}

void tracked_blame(struct tracked *tracked, const char *trouble)
{
    if (tracked->view.state == PART_UNKNOWN)
        mem_set_str(&tracked->trouble, trouble);
    tell_part(tracked);
}

bool tracked_is_under_way(const struct tracked *tracked)
{
    return tracked->call || tracked->await != AWAIT_NOTHING || tracked->view.state == PART_UNKNOWN ||
           tracked->view.state == PART_PENDING;
}

/* ---- what is asked for ---- */

void tracked_note_stray(struct tracked *tracked, int64_t until_ms)
{
    tracked->view.unsettled = true;
    if (until_ms > tracked->view.settle_at_ms)
        tracked->view.settle_at_ms = until_ms;
}

void tracked_create(struct tracked *tracked, const struct vipu_requirements *requirements)
{
    if (tracked->call)
        return;
    tracked->sends++;
    tracked->created_in_run = true;
    tracked->sent_ms = controller_now_ms(tracked->controller);
    tracked->view.refusal = PART_NOT_REFUSED;
    tracked->call = vipu_create_partition(tracked->controller->client, requirements, POOL_DEADLINE_MS,
                                          on_created, tracked);
    tracked->view.busy = true;
}

void tracked_reset(struct tracked *tracked)
{
    if (tracked->call)
        return;
    tracked->sent_ms = controller_now_ms(tracked->controller);
    tracked->call = vipu_reset_partition(tracked->controller->client, tracked->id, false, POOL_DEADLINE_MS,
                                         on_reset, tracked);
    tracked->view.busy = true;
}

void tracked_remove(struct tracked *tracked)
{
    if (tracked->call)
        return;
    tracked->sent_ms = controller_now_ms(tracked->controller);
    tracked->call = vipu_remove_partition(tracked->controller->client, tracked->id, true, POOL_DEADLINE_MS,
                                          on_removed, tracked);
    tracked->view.busy = true;
}
