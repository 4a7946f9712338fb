#include "popdist/src/pump.h"

#include <inttypes.h>

#include "popdist/src/fail.h"

#define FIRST_TAG 1

enum popdist_status pump_init(struct pump *pump, const struct link *link,
                              void (*ended)(void *, struct call *), void *owner, struct popdist_error *error)
{
    pump->link = *link;
    pump->next_tag = FIRST_TAG;
    pump->ended = ended;
    pump->owner = owner;
    return match_new(&pump->match, error);
}

void pump_release(struct pump *pump)
{
    match_free(pump->match);
    pump->match = NULL;
    while (!pump->broken.status && pump->posts) {
        struct post *post = pump->posts;

        pump->posts = post->next;
        post_free(post);
    }
}

/* Tells all who have the call that this instance no longer waits in it. */
static void withdraw(struct pump *pump, const struct call *call)
{
    struct wire_message message = call_announcement(call);
    struct post *post = NULL;

    message.kind = WIRE_WITHDRAWAL;
    message.payload_size = 0;
    /* If this fails, the others find out by waiting. */
    (void)post_send(&message, call->turnout.group, &pump->link, &post, NULL);
    if (post) {
        post->held = false;
        post->next = pump->posts;
        pump->posts = post;
    }
}

static void end_call(struct pump *pump, struct call *call)
{
    struct call **at = &pump->calls;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    if (match_close(&call->turnout, NULL) && !pump->broken.status)
        (void)fail_memory(&pump->broken);
    pump->ended(pump->owner, call);
}

/* error may be pump->broken itself. */
static void break_down(struct pump *pump, const struct popdist_error *error)
{
    if (!pump->broken.status)
        pump->broken = *error;
    while (pump->calls) {
        struct call *call = pump->calls;

        call_fail(call, POPDIST_BROKEN, "%.700s", pump->broken.text);
        end_call(pump, call);
    }
}

enum popdist_status pump_begin(struct pump *pump, struct call *call, int64_t now_ms, int64_t timeout_ms,
                               struct popdist_error *error)
{
    struct popdist_error reason;
    struct wire_message message;
    enum popdist_status status;

    if (pump->broken.status)
        return fail(error, POPDIST_BROKEN, "no operation is possible any more: %.900s", pump->broken.text);
    call->tag = pump->next_tag;
    pump->next_tag += EXCHANGE_TAGS;
    if (pump->next_tag + EXCHANGE_TAGS > POPDIST_TAG_MAX)
        pump->next_tag = FIRST_TAG;
    call->timeout_ms = timeout_ms;
    call->deadline_ms = now_ms + timeout_ms;
    status = match_open(pump->match, &call->turnout, error);
    if (status)
        return status;
    call->next = pump->calls;
    pump->calls = call;
    message = call_announcement(call);
    status = post_send(&message, call->turnout.group, &pump->link, &call->announcement, &reason);
    if (call->announcement) {
        call->announcement->next = pump->posts;
        pump->posts = call->announcement;
    }
    if (!status)
        return POPDIST_OK;
    /* Some may have the announcement and others not, so that nothing fits together any more. */
    break_down(pump, &reason);
    if (error)
        *error = reason;
    return status;
}

/* One at a time: it may be the one that a call waits for. */
static enum popdist_status take_message(struct pump *pump, bool *moved, struct popdist_error *error)
{
    const struct link *link = &pump->link;
    struct wire_message message;
    size_t size = 0;
    uint32_t instance = 0;
    enum popdist_status status = link->backend->take(link->self, pump->taken, &size, &instance, error);

    if (status || !size)
        return status;
    *moved = true;
    if (!wire_read(pump->taken, size, &message))
        return fail(error, POPDIST_BROKEN,
                    "instance %" PRIu32
                    " sent a message that makes no sense; all instances must use the same "
                    "version of PopDist",
                    instance);
    return match_take(pump->match, &message, instance, error);
}

static enum popdist_status step_posts(struct pump *pump, bool *moved, struct popdist_error *error)
{
    struct post **at = &pump->posts;

    while (*at) {
        struct post *post = *at;
        enum popdist_status status = POPDIST_OK;

        if (post->left)
            status = post_step(post, &pump->link, moved, error);
        if (status)
            return status;
        if (post->left || post->held) {
            at = &post->next;
            continue;
        }
        *at = post->next;
        post_free(post);
    }
    return POPDIST_OK;
}

/* The call is done, well or not. */
static void finish(struct pump *pump, struct call *call)
{
    bool debris = call->status && call_left_debris(call);

    if (call->status == POPDIST_TIMEOUT)
        withdraw(pump, call);
    if (debris && !pump->broken.status)
        pump->broken = *call->error;
    end_call(pump, call);
}

static enum popdist_status step_calls(struct pump *pump, int64_t now_ms, bool *moved,
                                      struct popdist_error *error)
{
    struct call *next;

    for (struct call *call = pump->calls; call; call = next) {
        enum popdist_status status = call_step(call, &pump->link, now_ms, moved, error);

        next = call->next;
        if (status)
            return status;
        if (call->state != CALL_DONE)
            continue;
        finish(pump, call);
        *moved = true;
        if (pump->broken.status)
            return POPDIST_OK;
    }
    return POPDIST_OK;
}

bool pump_turn(struct pump *pump, int64_t now_ms)
{
    struct popdist_error error; /* written by who fails; clearing it would cost as much as the rest */
    bool moved = false;
    enum popdist_status status = pump->broken.status;

    if (!status)
        status = take_message(pump, &moved, &error);
    if (!status)
        status = step_posts(pump, &moved, &error);
    if (!status)
        status = step_calls(pump, now_ms, &moved, &error);
    if (status || pump->broken.status)
        break_down(pump, pump->broken.status ? &pump->broken : &error);
    return moved;
}
