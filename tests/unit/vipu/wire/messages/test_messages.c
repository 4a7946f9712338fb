/* Bytes that a peer may send. tests/vipu/server/test_messages.py has every field of every message, with a
 * generic peer. */
#include "lib/check.h"

#include "base/core/mem.h"
#include "vipu/wire/messages/replies.h"
#include "vipu/wire/messages/requests.h"

TEST(bytes_that_are_no_request)
{
    AUTO(arena) struct arena arena = {.budget = WIRE_REQUEST_BUDGET};
    struct vipu_requirements r;
    struct err err;

    CHECK_ERR(wire_get_create(SLICE_LIT("\xff\xff\xff"), &arena, &r, &err), err, ERR_INVALID);
    CHECK_ERR(wire_get_create((struct slice){NULL, 0}, &arena, &r, &err), err, ERR_INVALID);
    CHECK_HAS(err.msg, "no requirements");
}

TEST(texts_are_made_safe)
{
    static const struct {
        const char *bytes, *want;
    } rows[] = {
        {"plain", "plain"},
        {"a\nb\x1b[0m\x7f", "a?b?[0m?"},
        {"\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xc3", "?"},
        {"\xc0\xaf", "??"},           /* overlong */
        {"\xed\xa0\x80", "???"},      /* a surrogate */
        {"\xf4\x90\x80\x80", "????"}, /* beyond Unicode */
        {"\xe2\x82x", "??x"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(str) struct str out = {0};
        AUTO(mem) char *text = NULL;
        struct err err;

        wire_put_version(row->bytes, &out);
        CHECK_OK(wire_get_version(str_slice(&out), &text, &err), err);
        CHECK_STR_EQ(text, row->want);
    }
}

static char p1[] = "p1", c1[] = "c1";

TEST(a_partition_without_a_spec)
{
    AUTO(vipu_partitions) struct vipu_partitions list = {0};
    struct err err;

    CHECK_OK(wire_get_partitions(SLICE_LIT("\x0a\x04\x0a\x02p1"), WIRE_REPLY_BUDGET, &list, &err), err);
    CHECK_INT_EQ(list.count, 1);
    CHECK_STR_EQ(list.items[0].id, "p1");
    CHECK_STR_EQ(list.items[0].cluster_id, "");
    CHECK_INT_EQ(list.items[0].size, 0);
}

/* Fields that we do not know, of every type and between the partitions, and a spec that comes in two parts.
 */
TEST(a_list_from_the_future)
{
    static const char bytes[] = "\x7a\x02hi"         /* 15: a text */
                                "\x0a\x04\x0a\x02p1" /* 1: a partition */
                                "\x08\x01"           /* 1: a number, which is no partition */
                                "\x79"
                                "12345678" /* 15: eight bytes */
                                "\x0a\x0e" /* 1: id, and a spec in two parts */
                                "\x0a\x02p2"
                                "\x12\x04\x0a\x02"
                                "cl"
                                "\x12\x02\x38\x01";
    AUTO(vipu_partitions) struct vipu_partitions list = {0};
    struct err err;

    CHECK_OK(wire_get_partitions(slice_of(bytes), WIRE_REPLY_BUDGET, &list, &err), err);
    CHECK_INT_EQ(list.count, 2);
    CHECK_STR_EQ(list.items[0].id, "p1");
    CHECK_STR_EQ(list.items[1].id, "p2");
    CHECK_STR_EQ(list.items[1].cluster_id, "cl");
    CHECK(list.items[1].reconfigurable && !list.items[0].reconfigurable);
    CHECK(vipu_partitions_find(&list, "p2") == &list.items[1]);
    CHECK(vipu_partitions_find(&list, "p3") == NULL);
}

TEST(lists_that_are_cut_off)
{
    struct vipu_partitions list = {0};
    AUTO(str) struct str out = {0};
    struct err err;

    for (int i = 0; i < 2; i++)
        CHECK(wire_put_partition(&(struct vipu_partition){.id = p1, .cluster_id = c1, .num_gcds = 2}, &out));
    for (size_t len = 1; len < out.len; len++) {
        if (len == out.len / 2)
            continue;
        CHECK_ERR(wire_get_partitions((struct slice){str_text(&out), len}, WIRE_REPLY_BUDGET, &list, &err),
                  err, ERR_IO);
        CHECK(list.items == NULL);
    }
}

TEST(decoding_has_a_budget)
{
    AUTO(vipu_partitions) struct vipu_partitions list = {0};
    AUTO(str) struct str out = {0};
    struct err err;

    for (int i = 0; i < 100000; i++)
        str_add(&out, "\x0a\x00", 2);
    CHECK_ERR(wire_get_partitions(str_slice(&out), 1 << 20, &list, &err), err, ERR_IO);
    CHECK_OK(wire_get_partitions(str_slice(&out), 32 << 20, &list, &err), err);
    CHECK_INT_EQ(list.count, 100000);
}

TEST(ipus_are_counted_without_a_list)
{
    struct vipu_attribute attribute = {(char[]){"driver"}, (char[]){"1.0"}};
    struct vipu_agent_ipu ipus[] = {{0, &attribute, 1}, {1, &attribute, 1}, {7, NULL, 0}};
    AUTO(str) struct str out = {0};
    struct err err;
    uint32_t count;
    size_t first;

    CHECK_OK(wire_count_ipus(str_slice(&out), &count, &err), err);
    CHECK_INT_EQ(count, 0);
    CHECK(wire_put_agent(&(struct vipu_agent){(char[]){"ag1"}, ipus, 3}, &out));
    first = out.len;
    CHECK(wire_put_agent(&(struct vipu_agent){(char[]){"ag2"}, ipus, 1}, &out));
    CHECK_OK(wire_count_ipus(str_slice(&out), &count, &err), err);
    CHECK_INT_EQ(count, 4);
    for (size_t len = 1; len < out.len; len++) {
        if (len != first)
            CHECK_ERR(wire_count_ipus((struct slice){str_text(&out), len}, &count, &err), err, ERR_IO);
    }
    CHECK_ERR(wire_count_ipus(SLICE_LIT("\x0a\x02\x12\x05"), &count, &err), err, ERR_IO); /* cut inside */
}

TEST(a_status)
{
    char *errors[] = {p1, c1};
    const struct vipu_status given = {.partition_id = p1,
                                      .ready_state = VIPU_READY_ERROR,
                                      .operation_state = VIPU_OPERATION_FAILED,
                                      .errors = errors,
                                      .error_count = 2,
                                      .max_auto_reset_retries = 3,
                                      .auto_reset_retry_count = 1,
                                      .last_auto_reset_unix_s = 1234567890};
    AUTO(vipu_status) struct vipu_status got = {0};
    AUTO(str) struct str out = {0};
    struct err err;

    CHECK(wire_put_status(&given, &out));
    CHECK_OK(wire_get_status(str_slice(&out), &got, &err), err);
    CHECK_STR_EQ(got.errors[1], "c1");
    CHECK(got.error_count == 2 && got.max_auto_reset_retries == 3 && got.auto_reset_retry_count == 1);
    CHECK_INT_EQ(got.last_auto_reset_unix_s, 1234567890);
    CHECK_INT_EQ(got.operation_state, VIPU_OPERATION_FAILED);
}

TEST(replies_that_lack_their_part)
{
    struct vipu_status status;
    struct vipu_ipuof_config config;
    struct err err;

    CHECK_ERR(wire_get_status((struct slice){NULL, 0}, &status, &err), err, ERR_IO);
    CHECK_ERR(wire_get_ipuof((struct slice){NULL, 0}, &config, &err), err, ERR_IO);
    CHECK_ERR(wire_get_empty(SLICE_LIT("\xff"), &err), err, ERR_IO);
    CHECK_OK(wire_get_empty(SLICE_LIT("\xf8\x07\x01"), &err), err); /* a field that is not known */
}

#define BYTES(text)                                                                                          \
    {                                                                                                        \
        (text), sizeof(text) - 1                                                                             \
    }

/* Of a request, which acts: a text that would be read as another one is rejected, with the field's name. */
TEST(texts_of_a_request_are_whole)
{
    static const struct {
        struct slice bytes;
        const char *says; /* NULL: accepted */
    } rows[] = {
        {BYTES("\x0a\x02p1"), NULL},
        {BYTES("\x0a\x02\xc3\xbc"), NULL},
        {BYTES("\x0a\x04p1\0x"), "partition_id must be valid UTF-8 without NUL bytes"},
        {BYTES("\x0a\x03p1\0"), "partition_id"},
        {BYTES("\x0a\x03p1\xff"), "partition_id"},
        {BYTES("\x0a\x01\xc3\x10\xbc"), "partition_id"}, /* a sequence that the field's end cuts */
        {BYTES("\x0a\x03\xed\xa0\x80"), "partition_id"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(arena) struct arena arena = {.budget = WIRE_REQUEST_BUDGET};
        struct wire_partition_request r;
        struct err err;
        bool ok = wire_get_remove(row->bytes, &arena, &r, &err);

        CHECK_INT_EQ(ok, row->says == NULL);
        if (!ok)
            CHECK_HAS(err.msg, row->says);
    }
}

TEST(texts_inside_the_messages_of_a_request_are_whole)
{
    AUTO(arena) struct arena arena = {.budget = WIRE_REQUEST_BUDGET};
    struct vipu_requirements r;
    struct err err;

    CHECK_ERR(wire_get_create(SLICE_LIT("\x12\x05\x0a\x03p\0x"), &arena, &r, &err), err, ERR_INVALID);
    CHECK_HAS(err.msg, "id must be valid UTF-8 without NUL bytes");
}
