#include "launcher/remote/caller.h"

#include <poll.h>

#include "base/core/mem.h"

static bool admits(void *ctx, const char *text)
{
    struct caller *caller = ctx;

    caller->refusal = identity_judge(caller->own, text, &caller->identity);
    caller->is_admitted = caller->refusal == REFUSAL_NONE;
    return caller->is_admitted;
}

struct caller *caller_new(struct psk_context *context, int fd, const struct identity *own, int64_t now_ms)
{
    struct caller *caller = NEW(struct caller);

    *caller = (struct caller){
        .own = own, .deadline_ms = now_ms + CALLER_DEADLINE_MS, .line = {.max = CALLER_LINE_MAX_BYTES}};
    caller->tls = psk_server_new(context, fd, admits, caller);
    return caller;
}

/* Who has the key may know why it is turned away; nothing waits for it to take that. */
static void explain(struct caller *caller)
{
    struct err err;

    link_put_bytes(&caller->link, FRAME_FAILED, 0, slice_of(refusal_text(caller->refusal)));
    (void)!link_turn(&caller->link, caller->link.heard_ms, &err);
}

void caller_free(struct caller *caller)
{
    if (caller->is_linked && caller->refusal != REFUSAL_NONE)
        explain(caller);
    if (caller->is_linked)
        link_close(&caller->link);
    else
        psk_close(caller->tls);
    str_release(&caller->line);
    mem_free(caller);
}

void caller_forget(struct caller *caller)
{
    if (caller->is_linked)
        link_forget(&caller->link);
    else
        psk_forget(caller->tls);
    str_release(&caller->line);
    mem_free(caller);
}

int caller_fd(const struct caller *caller)
{
    return caller->is_linked ? link_fd(&caller->link) : psk_fd(caller->tls);
}

short caller_events(const struct caller *caller)
{
    if (caller->is_waiting)
        return 0;
    return caller->is_linked ? link_events(&caller->link) : psk_events(caller->tls);
}

static enum caller_state refuse(struct caller *caller, enum refusal refusal)
{
    caller->refusal = refusal;
    return CALLER_REFUSED;
}

static enum caller_state shake(struct caller *caller, int64_t now_ms)
{
    bool is_denied;

    switch (psk_shake(caller->tls, &is_denied)) {
    case PSK_DONE:
        link_init(&caller->link, caller->tls, now_ms);
        caller->is_linked = true;
        return CALLER_PENDING;
    case PSK_AGAIN:
        return CALLER_PENDING;
    case PSK_CLOSED:
    case PSK_FAILED:
        break;
    }
    if (caller->refusal != REFUSAL_NONE)
        return CALLER_REFUSED;
    return refuse(caller, caller->is_admitted && is_denied ? REFUSAL_KEY : REFUSAL_STRANGER);
}

static enum caller_state take(struct caller *caller, const struct frame *frame)
{
    switch ((int)frame->type) {
    case FRAME_COMMAND:
        if (!str_add(&caller->line, frame->bytes.ptr, frame->bytes.len))
            return refuse(caller, REFUSAL_REQUEST);
        return CALLER_PENDING;
    case FRAME_START:
        return caller->line.len ? CALLER_WANTS : refuse(caller, REFUSAL_REQUEST);
    case FRAME_PROBE:
        link_put_number(&caller->link, FRAME_ALIVE, 0, 0);
        return CALLER_DONE;
    default:
        return refuse(caller, REFUSAL_REQUEST);
    }
}

static enum caller_state listen_to(struct caller *caller, int64_t now_ms)
{
    enum caller_state state = CALLER_PENDING;
    struct frame frame;
    bool got = true;
    struct err err;

    if (!link_turn(&caller->link, now_ms, &err))
        return refuse(caller, REFUSAL_REQUEST);
    while (got && state == CALLER_PENDING) {
        if (!link_next(&caller->link, &frame, &got, &err))
            return refuse(caller, REFUSAL_REQUEST);
        if (got)
            state = take(caller, &frame);
    }
    if (state == CALLER_DONE && !link_turn(&caller->link, now_ms, &err))
        return refuse(caller, REFUSAL_REQUEST);
    if (state == CALLER_PENDING && caller->link.is_closed)
        return refuse(caller, REFUSAL_REQUEST);
    return state;
}

enum caller_state caller_turn(struct caller *caller, int64_t now_ms)
{
    enum caller_state state = CALLER_PENDING;

    if (caller->is_waiting)
        return CALLER_WANTS;
    if (!caller->is_linked)
        state = shake(caller, now_ms);
    if (caller->is_linked && state == CALLER_PENDING)
        state = listen_to(caller, now_ms);
    if (state == CALLER_PENDING && now_ms >= caller->deadline_ms)
        return refuse(caller, REFUSAL_SILENT);
    return state;
}
