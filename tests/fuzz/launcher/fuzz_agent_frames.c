/* Any bytes, in any pieces, as an agent gets them: either they are rejected with a sentence, or they are
 * frames that are written again as the same bytes; what is held for a channel never passes its window. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "launcher/env/identity.h"
#include "launcher/remote/protocol/flow.h"
#include "launcher/remote/protocol/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static bool carry(struct flow *flow, uint32_t *credit, const struct frame *frame, struct err *err)
{
    if (frame->type == FRAME_CREDIT)
        return flow_add_credit(credit, frame->number, err);
    if (frame->type == FRAME_END)
        flow->is_ended = true;
    if (frame->type == FRAME_DATA && !flow_take(flow, frame->bytes, err))
        return false;
    assert(flow->held.len <= FLOW_WINDOW_BYTES && *credit <= FLOW_WINDOW_BYTES);
    if (frame->type == FRAME_STOP)
        (void)flow_drop(flow, flow->held.len);
    return true;
}

static void check_again(const struct frame *frame, const char *wire, size_t used)
{
    AUTO(str) struct str again = {0};

    frame_write(frame, &again);
    assert(again.len == used && memcmp(again.ptr, wire, used) == 0);
}

static void check_frames(struct slice rest)
{
    uint32_t credit = 0;
    struct flow flow;
    struct frame frame;
    struct err err;
    size_t used = 1;
    bool good = true;

    flow_init(&flow);
    while (good && used > 0) {
        good = frame_read(rest, &frame, &used, &err);
        if (!good || used == 0)
            break;
        check_again(&frame, rest.ptr, used);
        good = carry(&flow, &credit, &frame, &err);
        rest.ptr += used;
        rest.len -= used;
    }
    assert(good || err.msg[0]);
    flow_release(&flow);
}

static void check_identity(const char *text)
{
    struct identity identity, again;
    char printed[IDENTITY_TEXT_MAX];

    if (!identity_parse(text, &identity))
        return;
    identity_print(&identity, printed);
    assert(identity_parse(printed, &again) && memcmp(&identity, &again, sizeof(again)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    AUTO(mem) char *text = mem_strndup((const char *)bytes, len);

    check_frames((struct slice){(const char *)bytes, len});
    check_identity(text);
    return 0;
}
