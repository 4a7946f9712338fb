#include "launcher/remote/protocol/flow.h"

#include "base/core/mem.h"
#include "lib/check.h"

static struct slice of(const char *bytes, size_t len)
{
    return (struct slice){bytes, len};
}

TEST(more_than_a_window_is_rejected)
{
    AUTO(mem) char *bytes = mem_alloc(FLOW_WINDOW_BYTES + 1);
    struct flow flow;
    struct err err;

    flow_init(&flow);
    CHECK_ERR(flow_take(&flow, of(bytes, FLOW_WINDOW_BYTES + 1), &err), err, ERR_INVALID);
    CHECK_OK(flow_take(&flow, of(bytes, FLOW_WINDOW_BYTES), &err), err);
    CHECK_ERR(flow_take(&flow, of(bytes, 1), &err), err, ERR_INVALID);
    flow_release(&flow);
}

TEST(nothing_comes_after_the_end)
{
    struct flow flow;
    struct err err;

    flow_init(&flow);
    flow.is_ended = true;
    CHECK_ERR(flow_take(&flow, of("x", 1), &err), err, ERR_INVALID);
    flow_release(&flow);
}

/* Whatever the sizes are: what was sent is what was taken, the window is never passed, and nobody waits for
 * the other forever. */
TEST(a_long_stream_gets_through_in_pieces_of_any_size)
{
    AUTO(mem) char *bytes = mem_alloc(FLOW_WINDOW_BYTES);
    uint32_t credit = FLOW_WINDOW_BYTES, random = 1;
    uint64_t sent = 0, written = 0;
    struct flow flow;
    struct err err;

    flow_init(&flow);
    for (unsigned turn = 0; turn < 20000; turn++) {
        uint32_t piece, told;

        random = random * 1664525u + 1013904223u;
        piece = random >> 16 & 0x3fff;
        piece = piece < credit ? piece : credit;
        CHECK_OK(flow_take(&flow, of(bytes, piece), &err), err);
        credit -= piece;
        sent += piece;
        CHECK(flow.held.len <= FLOW_WINDOW_BYTES);
        piece = flow.held.len < (random & 0x3fff) ? (uint32_t)flow.held.len : random & 0x3fff;
        told = flow_drop(&flow, piece);
        written += piece;
        CHECK_OK(flow_add_credit(&credit, told, &err), err);
        CHECK(credit > 0 || flow.held.len > 0);
    }
    CHECK_INT_EQ(sent, written + flow.held.len);
    CHECK(sent > 20 * FLOW_WINDOW_BYTES);
    flow_release(&flow);
}

TEST(credit_has_a_limit)
{
    uint32_t credit = 10;
    struct err err;

    CHECK_ERR(flow_add_credit(&credit, UINT32_MAX, &err), err, ERR_INVALID);
    CHECK_ERR(flow_add_credit(&credit, FLOW_WINDOW_BYTES - 9, &err), err, ERR_INVALID);
    CHECK_OK(flow_add_credit(&credit, FLOW_WINDOW_BYTES - 10, &err), err);
    CHECK_INT_EQ(credit, FLOW_WINDOW_BYTES);
}
