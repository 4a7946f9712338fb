/* The V-IPU controller of a world, and what the operator's process knows of it: the rules of pool.c. */
#include <string.h>

#include "base/core/mem.h"
#include "world.h"

#define RETRY_MS 1000
#define AWAIT_MS 30000

struct world_partition *world_partition(struct world *w, const char *id)
{
    for (size_t i = 0; i < w->partition_count; i++) {
        if (str_eq(w->partitions[i].id, id))
            return &w->partitions[i];
    }
    return NULL;
}

uint32_t world_ipus_used(const struct world *w)
{
    uint32_t used = 0;

    for (size_t i = 0; i < w->partition_count; i++)
        used += w->partitions[i].size;
    return used;
}

void world_partition_add(struct world *w, const char *id, uint32_t size, uint32_t gcds, bool is_foreign)
{
    w->partitions = mem_grow(w->partitions, w->partition_count + 1, sizeof(*w->partitions));
    w->partitions[w->partition_count++] =
        (struct world_partition){.id = mem_strdup(id),
                                 .size = size,
                                 .gcds = gcds,
                                 .state = is_foreign ? PARTITION_ACTIVE : PARTITION_PENDING,
                                 .is_foreign = is_foreign};
}

void world_partition_drop(struct world *w, const char *id)
{
    struct world_partition *partition = world_partition(w, id);

    if (!partition)
        return;
    mem_free(partition->id);
    *partition = w->partitions[--w->partition_count];
}

void world_partition_disturb(struct world *w, const char *id, enum partition_state state)
{
    strv_push(&w->disturbed, id);
    if (state == PARTITION_ABSENT)
        world_partition_drop(w, id);
    else
        world_partition(w, id)->state = state;
}

void world_partition_settle(struct world *w, struct world_partition *partition)
{
    (void)w;
    if (partition->state == PARTITION_PENDING)
        partition->state = partition->is_beyond_repair ? PARTITION_ERROR : PARTITION_ACTIVE;
}

/* ---- calls ---- */

enum answer { ANSWER_OK, ANSWER_EXISTS, ANSWER_ROOM, ANSWER_INVALID, ANSWER_DENIED };

static enum answer take_effect(struct world *w, enum wcall call, const char *id, uint32_t size, uint32_t gcds)
{
    struct world_partition *partition = world_partition(w, id);

    switch (call) {
    case CALL_CREATE:
        if (w->partition_rejection == PARTITION_REJECTED_INVALID)
            return ANSWER_INVALID;
        if (partition || w->partition_rejection == PARTITION_REJECTED_FOREIGN)
            return ANSWER_EXISTS;
        if (w->partition_rejection == PARTITION_REJECTED_CAPACITY ||
            world_ipus_used(w) + size > WORLD_CAPACITY)
            return ANSWER_ROOM;
        world_partition_add(w, id, size, gcds, false);
        return ANSWER_OK;
    case CALL_RESET:
        if (w->resets_are_rejected)
            return ANSWER_DENIED;
        if (partition) {
            partition->resets++;
            partition->state = PARTITION_PENDING;
            partition->used_by_run = 0;
        }
        return ANSWER_OK;
    case CALL_REMOVE:
        world_partition_drop(w, id);
        return ANSWER_OK;
    case CALL_NONE:
        break;
    }
    return ANSWER_OK;
}

static void add_stray(struct world *w, const struct wtrack *track)
{
    w->strays = mem_grow(w->strays, w->stray_count + 1, sizeof(*w->strays));
    w->strays[w->stray_count++] = (struct wstray){
        .at_ms = w->now_ms + (int64_t)world_roll(w, WORLD_STRAY_MS),
        .call = track->call,
        .id = mem_strdup(track->id),
        .size = track->size,
        .gcds = track->gcds,
    };
}

static void await(struct world *w, struct wtrack *track, enum wcall what)
{
    track->await = what;
    track->await_until_ms = w->now_ms + AWAIT_MS;
}

static void note_trouble(struct world *w, struct wtrack *track, const char *text)
{
    track->view.trouble = text;
    track->view.retry_at_ms = w->now_ms + RETRY_MS;
}

static void take_answer(struct world *w, struct wtrack *track, enum answer answer)
{
    switch (answer) {
    case ANSWER_OK:
        await(w, track, track->call);
        track->view.made = track->view.made || track->call == CALL_CREATE;
        track->view.trouble = NULL;
        break;
    case ANSWER_EXISTS:
        if (track->sends == 1 && track->is_ours_fresh)
            track->view.rejection = PARTITION_REJECTED_FOREIGN;
        else
            await(w, track, track->call);
        break;
    case ANSWER_ROOM:
        track->view.rejection = PARTITION_REJECTED_CAPACITY;
        note_trouble(w, track, "no room");
        break;
    case ANSWER_INVALID:
        track->view.rejection = PARTITION_REJECTED_INVALID;
        note_trouble(w, track, "no such shape");
        break;
    case ANSWER_DENIED:
        note_trouble(w, track, "not allowed");
        if (!track->view.resets_failing_since_ms)
            track->view.resets_failing_since_ms = w->now_ms;
        break;
    }
}

void world_call_end(struct world *w, struct wtrack *track, enum wfate fate)
{
    enum answer answer = ANSWER_OK;

    if (fate == FATE_LATE_UNKNOWN)
        add_stray(w, track);
    else if (fate != FATE_LOST_UNKNOWN)
        answer = take_effect(w, track->call, track->id, track->size, track->gcds);
    if (fate == FATE_DONE) {
        take_answer(w, track, answer);
    } else {
        note_trouble(w, track, "no answer in time");
        track->view.outcome_unknown = true;
        track->view.settle_at_ms = w->now_ms + WORLD_STRAY_MS;
    }
    track->view.state = track->await == CALL_RESET ? track->view.state : PARTITION_UNKNOWN;
    track->call = CALL_NONE;
    track->view.busy = track->await != CALL_NONE;
}

/* ---- lists ---- */

static void note_vain(struct world *w, struct wtrack *track)
{
    if (track->await == CALL_RESET && !track->view.resets_failing_since_ms)
        track->view.resets_failing_since_ms = w->now_ms;
    track->view.retry_at_ms = w->now_ms + RETRY_MS;
}

static void note_health(struct partition_view *view)
{
    if (view->state == PARTITION_ERROR || view->state == PARTITION_ACTIVE || view->state == PARTITION_ABSENT)
        view->is_broken = view->state == PARTITION_ERROR;
    if (view->state == PARTITION_ABSENT)
        view->resets_failing_since_ms = 0;
}

static void update_await(struct world *w, struct wtrack *track)
{
    enum partition_state state = track->view.state;

    if (track->await == CALL_NONE || state == PARTITION_PENDING)
        return;
    if (track->await == CALL_REMOVE ? state == PARTITION_ABSENT : state != PARTITION_ABSENT) {
        track->view.fresh = track->view.fresh || (track->await != CALL_REMOVE && state == PARTITION_ACTIVE);
        if (track->await != CALL_REMOVE && state == PARTITION_ACTIVE)
            track->view.resets_failing_since_ms = 0;
        if (state == PARTITION_ERROR)
            note_vain(w, track);
        track->await = CALL_NONE;
    } else if (track->await != CALL_RESET && w->now_ms >= track->await_until_ms) {
        track->await = CALL_NONE;
    } else if (track->await == CALL_RESET && state == PARTITION_ABSENT) {
        track->await = CALL_NONE; /* its status says not found */
    }
}

void world_list(struct world *w, struct wtrack *track)
{
    const struct world_partition *partition = world_partition(w, track->id);
    enum partition_state before = track->view.state, now = partition ? partition->state : PARTITION_ABSENT;

    if (track->call != CALL_NONE || w->controller_down)
        return; /* a list that began before the write's end proves nothing */
    if (partition && track->is_ours_fresh && track->sends == 0)
        track->view.rejection = PARTITION_REJECTED_FOREIGN;
    if (now != PARTITION_ACTIVE && now != PARTITION_ERROR && !track->started)
        track->view.quiet = true;
    if (now == PARTITION_ACTIVE && track->view.quiet && !track->started && track->await == CALL_NONE &&
        (track->created_in_run || before == PARTITION_PENDING))
        track->view.fresh = true;
    if (now != before)
        track->view.since_ms = w->now_ms;
    track->view.state = now;
    note_health(&track->view);
    track->view.size = partition ? partition->size : 0;
    track->view.gcds = partition ? partition->gcds + w->lists_other_gcds : 0;
    update_await(w, track);
    track->view.busy = track->await != CALL_NONE;
    if (w->now_ms > track->view.settle_at_ms)
        track->view.outcome_unknown = false;
}
