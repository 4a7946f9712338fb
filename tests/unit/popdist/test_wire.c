#include "popdist/src/core/wire.h"

#include <string.h>

#include "lib/check.h"

static const struct wire_message sent = {
    .kind = WIRE_CALL,
    .layout = {OPERATION_ALL_REDUCE, POPDIST_HALF, 3, 0x123456789abcU},
    .tag = 32765,
    .key = "all\0grad",
    .key_size = 8,
    .payload = "12345",
    .payload_size = 5,
};

TEST(what_is_written_can_be_read)
{
    uint8_t bytes[WIRE_MAX];
    struct wire_message read;

    wire_write(&sent, bytes);
    CHECK(wire_read(bytes, wire_size(&sent), &read));
    CHECK_INT_EQ(read.kind, sent.kind);
    CHECK(layout_equals(&read.layout, &sent.layout));
    CHECK_INT_EQ(read.tag, sent.tag);
    CHECK_INT_EQ(read.key_size, sent.key_size);
    CHECK(memcmp(read.key, sent.key, sent.key_size) == 0);
    CHECK_INT_EQ(read.payload_size, sent.payload_size);
    CHECK(memcmp(read.payload, sent.payload, sent.payload_size) == 0);
}

TEST(bytes_that_are_no_message_are_rejected)
{
    static const struct {
        size_t at;
        uint8_t byte;
    } wrongs[] = {{0, 0}, {3, 9}, {4, 0}, {4, 7}, {5, 200}, {6, 12}, {24, 9}, {27, 1}, {28, 6}, {29, 255}};
    uint8_t bytes[WIRE_MAX];
    struct wire_message read;

    CHECK_ROWS (row, wrongs) {
        wire_write(&sent, bytes);
        bytes[row->at] = row->byte;
        CHECK(!wire_read(bytes, wire_size(&sent), &read));
    }
    for (size_t size = 0; size < wire_size(&sent); size++)
        CHECK(!wire_read(bytes, size, &read));
}

TEST(layouts_are_described_in_words)
{
    static const struct {
        struct layout layout;
        const char *text;
    } rows[] = {
        {{OPERATION_BARRIER, POPDIST_INT8, 0, 0}, "barrier"},
        {{OPERATION_BROADCAST, POPDIST_FLOAT, 2, 7}, "broadcast of float[7] from 2"},
        {{OPERATION_ALL_REDUCE, POPDIST_HALF, 0, 1}, "all-reduce of half[1]"},
        {{OPERATION_ALL_GATHER, POPDIST_BOOL, 0, 0}, "all-gather of bool[0]"},
        {{OPERATION_REGISTER, POPDIST_INT8, 0, 255}, "communicator with participants #ff"},
    };

    CHECK_ROWS (row, rows) {
        char text[80];

        layout_print(&row->layout, text, sizeof text);
        CHECK_STR_EQ(text, row->text);
    }
}
