#include "launcher/remote/protocol/frame.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

static const struct frame frames[] = {
    {.type = FRAME_COMMAND, .bytes = {"true", 4}},
    {.type = FRAME_COMMAND, .bytes = {"", 0}},
    {.type = FRAME_START},
    {.type = FRAME_PROBE},
    {.type = FRAME_ALIVE},
    {.type = FRAME_DATA, .channel = CHANNEL_ERR, .bytes = {"a\0b", 3}},
    {.type = FRAME_END, .channel = CHANNEL_IN},
    {.type = FRAME_STOP, .channel = CHANNEL_OUT},
    {.type = FRAME_CREDIT, .channel = CHANNEL_OUT, .number = 0xfedcba98},
    {.type = FRAME_SIGNAL, .number = 15},
    {.type = FRAME_FAILED, .bytes = {"no", 2}},
    {.type = FRAME_EXIT, .number = 255},
    {.type = FRAME_BYE},
    {.type = FRAME_HEARTBEAT},
    {.type = FRAME_OOM_KILLED, .number = 70000},
};

static void check_same(const struct frame *got, const struct frame *want)
{
    CHECK_INT_EQ(got->type, want->type);
    CHECK_INT_EQ(got->channel, want->channel);
    CHECK_INT_EQ(got->number, want->number);
    CHECK_INT_EQ(got->bytes.len, want->bytes.len);
    CHECK(memcmp(got->bytes.ptr ? got->bytes.ptr : "", want->bytes.ptr ? want->bytes.ptr : "",
                 want->bytes.len) == 0);
}

TEST(every_frame_is_read_as_it_was_written)
{
    CHECK_ROWS (row, frames) {
        AUTO(str) struct str wire = {0};
        struct frame got;
        size_t used;
        struct err err;

        frame_write(row, &wire);
        CHECK_OK(frame_read(str_slice(&wire), &got, &used, &err), err);
        CHECK_INT_EQ(used, wire.len);
        check_same(&got, row);
    }
}

TEST(a_piece_of_a_frame_is_not_taken)
{
    CHECK_ROWS (row, frames) {
        AUTO(str) struct str wire = {0};
        struct frame got = {.number = 77};
        size_t used;
        struct err err;

        frame_write(row, &wire);
        for (size_t len = 0; len < wire.len; len++) {
            CHECK_OK(frame_read((struct slice){wire.ptr, len}, &got, &used, &err), err);
            CHECK_INT_EQ(used, 0);
            CHECK_INT_EQ(got.number, 77);
        }
    }
}

TEST(invalid_data_is_rejected_before_it_is_complete)
{
    const struct slice wires[] = {
        SLICE_LIT("\0\0\0"),         /* no type */
        SLICE_LIT("\x0e\0\0"),       /* none either */
        SLICE_LIT("\xff\0\0"),       /* nor this */
        SLICE_LIT("\x02\0\1"),       /* START has nothing to say */
        SLICE_LIT("\x06\0\0"),       /* END of which channel */
        SLICE_LIT("\x08\0\4"),       /* CREDIT without one */
        SLICE_LIT("\x01\x3e\x81"),   /* a byte more than a piece may have */
        SLICE_LIT("\x05\x3e\x82"),   /* the same with a channel */
        SLICE_LIT("\x05\0\0"),       /* DATA without a channel */
        SLICE_LIT("\x06\0\1\3"),     /* channel 3 */
        SLICE_LIT("GET / HTTP/1.1"), /* somebody else's protocol */
    };

    CHECK_ROWS (row, wires) {
        struct frame got;
        size_t used;
        struct err err;

        CHECK_ERR(frame_read(*row, &got, &used, &err), err, ERR_INVALID);
    }
}
