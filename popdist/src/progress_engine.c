#include "popdist/src/progress_engine.h"

#include <inttypes.h>

#include "popdist/src/fail.h"

#define FIRST_TAG 1

enum popdist_status progress_engine_init(struct progress_engine *progress_engine, const struct link *link,
                                         void (*ended)(void *, struct call *), void *owner,
                                         struct popdist_error *error)
{
    progress_engine->link = *link;
    progress_engine->next_tag = FIRST_TAG;
    progress_engine->ended = ended;
    progress_engine->owner = owner;
    return match_new(&progress_engine->match, error);
}

void progress_engine_release(struct progress_engine *progress_engine)
{
    match_free(progress_engine->match);
    progress_engine->match = NULL;
    while (!progress_engine->broken.status && progress_engine->posts) {
        struct control_send *control_send = progress_engine->posts;

        progress_engine->posts = control_send->next;
        control_send_free(control_send);
    }
}

/* Informs all that have the announcement that this instance no longer waits. */
static void withdraw(struct progress_engine *progress_engine, const struct call *call)
{
    struct wire_message message = call_announcement(call);
    struct control_send *control_send = NULL;

    message.kind = WIRE_WITHDRAWAL;
    message.payload_size = 0;
    /* If this fails, the others find out by a timeout. */
    (void)control_send_start(&message, call->match_op.group, &progress_engine->link, &control_send, NULL);
    if (control_send) {
        control_send->held = false;
        control_send->next = progress_engine->posts;
        progress_engine->posts = control_send;
    }
}

static void end_call(struct progress_engine *progress_engine, struct call *call)
{
    struct call **at = &progress_engine->calls;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    if (match_close(&call->match_op, NULL) && !progress_engine->broken.status)
        (void)fail_memory(&progress_engine->broken);
    progress_engine->ended(progress_engine->owner, call);
}

/* error may be pump->broken itself. */
static void break_down(struct progress_engine *progress_engine, const struct popdist_error *error)
{
    if (!progress_engine->broken.status)
        progress_engine->broken = *error;
    while (progress_engine->calls) {
        struct call *call = progress_engine->calls;

        call_fail(call, POPDIST_BROKEN, "%.700s", progress_engine->broken.text);
        end_call(progress_engine, call);
    }
}

enum popdist_status progress_engine_begin(struct progress_engine *progress_engine, struct call *call,
                                          int64_t now_ms, int64_t timeout_ms, struct popdist_error *error)
{
    struct popdist_error reason;
    struct wire_message message;
    enum popdist_status status;

    if (progress_engine->broken.status)
        return fail(error, POPDIST_BROKEN, "collectives unavailable after an earlier error: %.900s",
                    progress_engine->broken.text);
    call->tag = progress_engine->next_tag;
    progress_engine->next_tag += EXCHANGE_TAGS;
    if (progress_engine->next_tag + EXCHANGE_TAGS > POPDIST_TAG_MAX)
        progress_engine->next_tag = FIRST_TAG;
    call->timeout_ms = timeout_ms;
    call->deadline_ms = now_ms + timeout_ms;
    status = match_open(progress_engine->match, &call->match_op, error);
    if (status)
        return status;
    call->next = progress_engine->calls;
    progress_engine->calls = call;
    message = call_announcement(call);
    status = control_send_start(&message, call->match_op.group, &progress_engine->link, &call->announcement,
                                &reason);
    if (call->announcement) {
        call->announcement->next = progress_engine->posts;
        progress_engine->posts = call->announcement;
    }
    if (!status)
        return POPDIST_OK;
    /* Some may have the announcement and others not, so that the instances no longer match. */
    break_down(progress_engine, &reason);
    if (error)
        *error = reason;
    return status;
}

/* One at a time: it may be the one that a call waits for. */
static enum popdist_status take_message(struct progress_engine *progress_engine, bool *moved,
                                        struct popdist_error *error)
{
    const struct link *link = &progress_engine->link;
    struct wire_message message;
    size_t size = 0;
    uint32_t instance = 0;
    enum popdist_status status =
        link->backend->take(link->self, progress_engine->taken, &size, &instance, error);

    if (status || !size)
        return status;
    *moved = true;
    if (!wire_read(progress_engine->taken, size, &message))
        return fail(error, POPDIST_BROKEN,
                    "instance %" PRIu32
                    " sent an invalid message; all instances must use the same version of PopDist",
                    instance);
    return match_take(progress_engine->match, &message, instance, error);
}

static enum popdist_status step_posts(struct progress_engine *progress_engine, bool *moved,
                                      struct popdist_error *error)
{
    struct control_send **at = &progress_engine->posts;

    while (*at) {
        struct control_send *control_send = *at;
        enum popdist_status status = POPDIST_OK;

        if (control_send->left)
            status = control_send_step(control_send, &progress_engine->link, moved, error);
        if (status)
            return status;
        if (control_send->left || control_send->held) {
            at = &control_send->next;
            continue;
        }
        *at = control_send->next;
        control_send_free(control_send);
    }
    return POPDIST_OK;
}

/* The call is done, successfully or not. */
static void finish(struct progress_engine *progress_engine, struct call *call)
{
    bool debris = call->status && call_left_unmatched_data(call);

    if (call->status == POPDIST_TIMEOUT)
        withdraw(progress_engine, call);
    if (debris && !progress_engine->broken.status)
        progress_engine->broken = *call->error;
    end_call(progress_engine, call);
}

static enum popdist_status step_calls(struct progress_engine *progress_engine, int64_t now_ms, bool *moved,
                                      struct popdist_error *error)
{
    struct call *next;

    for (struct call *call = progress_engine->calls; call; call = next) {
        enum popdist_status status = call_step(call, &progress_engine->link, now_ms, moved, error);

        next = call->next;
        if (status)
            return status;
        if (call->state != CALL_DONE)
            continue;
        finish(progress_engine, call);
        *moved = true;
        if (progress_engine->broken.status)
            return POPDIST_OK;
    }
    return POPDIST_OK;
}

bool progress_engine_poll(struct progress_engine *progress_engine, int64_t now_ms)
{
    struct popdist_error error; /* written on failure; clearing it would cost as much as everything else */
    bool moved = false;
    enum popdist_status status = progress_engine->broken.status;

    if (!status)
        status = take_message(progress_engine, &moved, &error);
    if (!status)
        status = step_posts(progress_engine, &moved, &error);
    if (!status)
        status = step_calls(progress_engine, now_ms, &moved, &error);
    if (status || progress_engine->broken.status)
        break_down(progress_engine, progress_engine->broken.status ? &progress_engine->broken : &error);
    return moved;
}
