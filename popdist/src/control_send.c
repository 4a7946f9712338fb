#include "popdist/src/control_send.h"

#include "popdist/src/fail.h"
#include "popdist/src/alloc.h"

static struct control_send *post_new(const struct wire_message *message, uint32_t count)
{
    struct control_send *control_send =
        popdist_alloc(1, sizeof *control_send + count * sizeof *control_send->requests + wire_size(message));

    if (!control_send)
        return NULL;
    control_send->requests = (struct popdist_request *)(void *)(control_send + 1);
    control_send->bytes = (uint8_t *)(control_send->requests + count);
    control_send->count = count;
    wire_write(message, control_send->bytes);
    return control_send;
}

enum popdist_status control_send_start(const struct wire_message *message, const struct group *group,
                                       const struct link *link, struct control_send **ret,
                                       struct popdist_error *error)
{
    struct control_send *control_send = post_new(message, group->count);

    if (!control_send)
        return fail_memory(error);
    *ret = control_send;
    control_send->held = true;
    /* Each instance starts with its right neighbour, so that not all of them send to the first at once. */
    for (uint32_t step = 1; step < group->count; step++) {
        uint32_t rank = (group->self + step) % group->count;
        enum popdist_status status =
            link->backend->send(link->self, group->members[rank], 0, control_send->bytes, wire_size(message),
                                &control_send->requests[control_send->left], error);

        if (status)
            return status;
        control_send->left++;
    }
    return POPDIST_OK;
}

enum popdist_status control_send_step(struct control_send *control_send, const struct link *link, bool *moved,
                                      struct popdist_error *error)
{
    for (uint32_t i = 0; i < control_send->left;) {
        bool done = false;
        enum popdist_status status =
            link->backend->test(link->self, &control_send->requests[i], &done, error);

        if (status)
            return status;
        if (done) {
            control_send->requests[i] = control_send->requests[--control_send->left];
            *moved = true;
        } else {
            i++;
        }
    }
    return POPDIST_OK;
}

void control_send_free(struct control_send *control_send)
{
    popdist_free(control_send);
}
