#include "popdist/src/core/control_send.h"

#include "popdist/src/core/fail.h"
#include "popdist/src/core/alloc.h"

static struct control_send *post_new(const struct wire_message *message, uint32_t count)
{
    struct control_send *send =
        popdist_alloc(1, sizeof *send + count * sizeof *send->requests + wire_size(message));

    if (!send)
        return NULL;
    send->requests = (struct popdist_request *)(void *)(send + 1);
    send->bytes = (uint8_t *)(send->requests + count);
    send->count = count;
    wire_write(message, send->bytes);
    return send;
}

static enum popdist_status send_one(struct control_send *send, size_t size, uint32_t instance,
                                    const struct link *link, struct popdist_error *error)
{
    enum popdist_status status =
        link->backend->send(link->self, instance, 0, send->bytes, size, &send->requests[send->left], error);

    if (!status)
        send->left++;
    return status;
}

enum popdist_status control_send_start(const struct wire_message *message, const struct group *group,
                                       const struct link *link, struct control_send **ret,
                                       struct popdist_error *error)
{
    struct control_send *send = post_new(message, group->count);

    if (!send)
        return fail_memory(error);
    *ret = send;
    send->held = true;
    /* Each instance starts with its right neighbour, so that not all of them send to the first at once. */
    for (uint32_t step = 1; step < group->count; step++) {
        uint32_t rank = (group->self + step) % group->count;
        enum popdist_status status = send_one(send, wire_size(message), group->members[rank], link, error);

        if (status)
            return status;
    }
    return POPDIST_OK;
}

enum popdist_status control_send_to(const struct wire_message *message, uint32_t instance,
                                    const struct link *link, struct control_send **ret,
                                    struct popdist_error *error)
{
    struct control_send *send = post_new(message, 1);

    if (!send)
        return fail_memory(error);
    *ret = send;
    return send_one(send, wire_size(message), instance, link, error);
}

enum popdist_status control_send_step(struct control_send *send, const struct link *link, bool *moved,
                                      struct popdist_error *error)
{
    for (uint32_t i = 0; i < send->left;) {
        bool done = false;
        enum popdist_status status = link->backend->test(link->self, &send->requests[i], &done, error);

        if (status)
            return status;
        if (done) {
            send->requests[i] = send->requests[--send->left];
            *moved = true;
        } else {
            i++;
        }
    }
    return POPDIST_OK;
}

void control_send_free(struct control_send *send)
{
    popdist_free(send);
}
