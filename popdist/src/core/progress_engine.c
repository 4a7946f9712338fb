#include "popdist/src/core/progress_engine.h"

#include <inttypes.h>
#include <string.h>

#include "popdist/src/core/fail.h"

#define FIRST_TAG 1

enum popdist_status progress_engine_init(struct progress_engine *progress, const struct link *link,
                                         void (*ended)(void *, struct call *), void *owner,
                                         struct popdist_error *error)
{
    progress->link = *link;
    progress->next_tag = FIRST_TAG;
    progress->ended = ended;
    progress->owner = owner;
    return match_new(&progress->match, error);
}

void progress_engine_release(struct progress_engine *progress)
{
    match_free(progress->match);
    progress->match = NULL;
    while (!progress->broken.status && progress->posts) {
        struct control_send *send = progress->posts;

        progress->posts = send->next;
        control_send_free(send);
    }
}

static void keep_send(struct progress_engine *progress, struct control_send *send)
{
    send->held = false;
    send->next = progress->posts;
    progress->posts = send;
}

/* Sends a message about this call to all participants. */
static enum popdist_status tell_all(struct progress_engine *progress, const struct call *call,
                                    enum wire_kind kind, struct popdist_error *error)
{
    struct wire_message message = call_announcement(call);
    struct control_send *send = NULL;
    enum popdist_status status;

    message.kind = kind;
    message.payload_size = 0;
    status = control_send_start(&message, call->match_op.group, &progress->link, &send, error);
    if (send)
        keep_send(progress, send);
    return status;
}

static enum popdist_status vote(struct progress_engine *progress, const struct wire_message *request,
                                uint32_t instance, struct popdist_error *error)
{
    struct wire_message message = *request;
    struct control_send *send = NULL;
    bool yes = match_set_state(progress->match, request, instance, ABORT_PREPARED);
    enum popdist_status status;

    message.kind = yes ? WIRE_VOTE_YES : WIRE_VOTE_NO;
    status = control_send_to(&message, instance, &progress->link, &send, error);
    if (send)
        keep_send(progress, send);
    return status;
}

/* Tags repeat after some thousand calls, and one that waits may be older. */
static bool is_about(const struct wire_message *message, const struct call *call)
{
    return call->tag == message->tag && call->match_op.key_size == message->key_size &&
           memcmp(call->match_op.key, message->key, message->key_size) == 0;
}

static void take_vote(struct progress_engine *progress, const struct wire_message *message)
{
    for (struct call *call = progress->calls; call; call = call->next)
        if (is_about(message, call))
            call_take_vote(call, message->kind == WIRE_VOTE_YES);
}

static void end_call(struct progress_engine *progress, struct call *call)
{
    struct call **at = &progress->calls;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    if (match_close(&call->match_op, NULL) && !progress->broken.status)
        (void)fail_memory(&progress->broken);
    progress->ended(progress->owner, call);
}

/* error may be that of the progress engine itself. */
static void break_down(struct progress_engine *progress, const struct popdist_error *error)
{
    if (!progress->broken.status)
        progress->broken = *error;
    while (progress->calls) {
        struct call *call = progress->calls;

        call_fail(call, POPDIST_BROKEN, "%.700s", progress->broken.text);
        end_call(progress, call);
    }
}

void progress_engine_stop(struct progress_engine *progress, const char *reason)
{
    struct popdist_error error;

    (void)fail(&error, POPDIST_BROKEN, "%s", reason);
    break_down(progress, &error);
}

enum popdist_status progress_engine_begin(struct progress_engine *progress, struct call *call, int64_t now_ms,
                                          int64_t timeout_ms, struct popdist_error *error)
{
    struct popdist_error reason;
    struct wire_message message;
    enum popdist_status status;

    if (progress->broken.status)
        return fail(error, POPDIST_BROKEN, "collectives unavailable after an earlier error: %.900s",
                    progress->broken.text);
    call->tag = progress->next_tag;
    progress->next_tag += EXCHANGE_TAGS;
    if (progress->next_tag + EXCHANGE_TAGS > POPDIST_TAG_MAX)
        progress->next_tag = FIRST_TAG;
    progress->now_ms = now_ms;
    call->timeout_ms = timeout_ms;
    call->deadline_ms = now_ms + timeout_ms;
    status = match_open(progress->match, &call->match_op, error);
    if (status)
        return status;
    call->next = progress->calls;
    progress->calls = call;
    message = call_announcement(call);
    status =
        control_send_start(&message, call->match_op.group, &progress->link, &call->announcement, &reason);
    if (call->announcement) {
        call->announcement->next = progress->posts;
        progress->posts = call->announcement;
    }
    if (!status)
        return POPDIST_OK;
    /* Some may have the announcement and others not, so that the instances no longer match. */
    break_down(progress, &reason);
    if (error)
        *error = reason;
    return status;
}

static enum popdist_status dispatch(struct progress_engine *progress, const struct wire_message *message,
                                    uint32_t instance, struct popdist_error *error)
{
    switch (message->kind) {
    case WIRE_CALL:
        return match_take(progress->match, message, instance, error);
    case WIRE_PREPARE_ABORT:
        return vote(progress, message, instance, error);
    case WIRE_VOTE_YES:
    case WIRE_VOTE_NO:
        take_vote(progress, message);
        break;
    case WIRE_ABORT:
        (void)match_set_state(progress->match, message, instance, ABORTED);
        break;
    case WIRE_RESUME:
        (void)match_set_state(progress->match, message, instance, ANNOUNCED);
        break;
    case WIRE_NOTHING:
    case WIRE_KIND_END:
        break;
    }
    return POPDIST_OK;
}

/* One at a time: it may be the one that a call waits for. */
static enum popdist_status take_message(struct progress_engine *progress, bool *moved,
                                        struct popdist_error *error)
{
    const struct link *link = &progress->link;
    struct wire_message message;
    size_t size = 0;
    uint32_t instance = 0;
    enum popdist_status status = link->backend->take(link->self, progress->taken, &size, &instance, error);

    if (status || !size)
        return status;
    *moved = true;
    if (!wire_read(progress->taken, size, &message))
        return fail(error, POPDIST_BROKEN,
                    "instance %" PRIu32
                    " sent an invalid message; all instances must use the same version of PopDist",
                    instance);
    return dispatch(progress, &message, instance, error);
}

static enum popdist_status step_posts(struct progress_engine *progress, bool *moved,
                                      struct popdist_error *error)
{
    struct control_send **at = &progress->posts;

    while (*at) {
        struct control_send *send = *at;
        enum popdist_status status = POPDIST_OK;

        if (send->left)
            status = control_send_step(send, &progress->link, moved, error);
        if (status)
            return status;
        if (send->left || send->held) {
            at = &send->next;
            continue;
        }
        *at = send->next;
        control_send_free(send);
    }
    return POPDIST_OK;
}

/* The call is done, successfully or not. */
static void finish(struct progress_engine *progress, struct call *call)
{
    bool leaves_data = call->status && (call_left_unmatched_data(call) || call->is_lost);

    if (leaves_data && !progress->broken.status)
        progress->broken = *call->error;
    end_call(progress, call);
}

/* The last call waits until the others come to theirs, but not for one that waits for this instance. */
static void check_last(struct progress_engine *progress, struct call *call)
{
    const char *key, *end;
    size_t size;
    const struct match_announcement *early = match_find_early(progress->match, &key, &size);

    if (!early || call->state == CALL_DONE)
        return;
    /* What users call it is behind the name of its communicator, if anything is. */
    end = memchr(key, 0, size);
    if (end && end + 1 < key + size) {
        size -= (size_t)(end + 1 - key);
        key = end + 1;
    }
    call->state = CALL_DONE;
    call->status =
        fail(call->error, POPDIST_MISUSE,
             "cannot finalize: instance %" PRIu32 " waits for this instance in %s \"%.*s\"", early->instance,
             operation_name(early->layout.operation), (int)(size < 200 ? size : 200), key);
}

static enum popdist_status step_calls(struct progress_engine *progress, bool *moved,
                                      struct popdist_error *error)
{
    struct call *next;

    for (struct call *call = progress->calls; call; call = next) {
        enum popdist_status status = call_step(call, &progress->link, progress->now_ms, moved, error);

        next = call->next;
        if (!status && call->tells) {
            status = tell_all(progress, call, call->tells, error);
            call->tells = WIRE_NOTHING;
        }
        if (status)
            return status;
        if (call->is_last)
            check_last(progress, call);
        if (call->state != CALL_DONE)
            continue;
        finish(progress, call);
        *moved = true;
        if (progress->broken.status)
            return POPDIST_OK;
    }
    return POPDIST_OK;
}

bool progress_engine_poll(struct progress_engine *progress, int64_t now_ms)
{
    struct popdist_error error; /* written on failure; clearing it would cost as much as everything else */
    bool moved = false;
    enum popdist_status status = progress->broken.status;

    if (!status)
        status = take_message(progress, &moved, &error);
    if (!moved)
        progress->now_ms = now_ms;
    if (!status)
        status = step_posts(progress, &moved, &error);
    if (!status)
        status = step_calls(progress, &moved, &error);
    if (status || progress->broken.status)
        break_down(progress, progress->broken.status ? &progress->broken : &error);
    return moved;
}
