#include "lib/check.h"

#include "base/core/mem.h"
#include "vipu/tools/devices/gcd_view.h"

#define DEVICE(routing, board)                                                                               \
    "{\"ip\":\"10.1.5.10\",\"server_port\":50052,\"routing_id\":" routing ",\"ipu_id\":" board               \
    ",\"chip_id\":\"c" board "\"}"

/* The file has devices and attributes, where GCD Id is a decimal string and its absence means 0; an attribute
 * says that a partition is Fabric Reconfigurable. */
TEST(a_file_as_vipu_writes_it)
{
    static const char text[] =
        "{\"attributes\":{\"GCD Id\":\"2\",\"Partition Id\":\"p1\",\"Fabric Reconfigurable\":\"true\","
        "\"Number Of Replicas\":\"4\",\"Partition Sync Type\":\"c2-compatible\",\"Routing "
        "Type\":\"RINGSWNC\"},"
        "\"devices\":[" DEVICE("1", "2") "," DEVICE("0", "3") "]}";
    AUTO(gcd_view) struct gcd_view view = {0};
    struct err err;

    CHECK_OK(gcd_view_from_file(SLICE_LIT(text), "p1_gcd2_ipuof", &view, &err), err);
    CHECK_STR_EQ(view.partition, "p1");
    CHECK_INT_EQ(view.gcd, 2);
    CHECK(view.reconfigurable);
    CHECK_INT_EQ(view.num_replicas, 4);
    CHECK_STR_EQ(view.sync_type, "c2-compatible");
    CHECK_STR_EQ(gcd_view_routing(&view), "RINGSWNC");
    CHECK_INT_EQ(view.ipu_count, 2);
    /* In the order of the device numbers, whatever the file's. */
    CHECK_STR_EQ(view.ipus[0].device.chip_id, "c3");
    CHECK_STR_EQ(view.ipus[1].device.chip_id, "c2");
    CHECK_INT_EQ(view.ipus[0].device.server_port, 50052);
}

/* The form of 2020 is a bare array of devices. Reference, 5: "tolerant reader: ignore unknown keys, numbers
 * or decimal strings"; "The partition name shown by tools for a bare file is its stem". */
TEST(files_that_say_less_or_more)
{
    static const struct {
        const char *text;
    } rows[] = {
        {"[" DEVICE("0", "3") "]"},
        {"{\"devices\":[" DEVICE("0", "3") "]}"},
        {"{\"devices\":[" DEVICE(
            "\"0\"", "3") "],\"version\":7,\"attributes\":{\"Else\":\"x\",\"Partition Id\":\"\"}}"},
        {"{\"devices\":[{\"ip\":\"10.1.5.10\",\"chip_id\":\"c3\",\"ipu_id\":3,\"more\":{\"deep\":[1]},"
         "\"rdma_port\":null}],\"attributes\":null}"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(gcd_view) struct gcd_view view = {0};
        struct err err;

        CHECK_OK(gcd_view_from_file(slice_of(row->text), "ipuof", &view, &err), err);
        CHECK_STR_EQ(view.partition, "ipuof");
        CHECK_INT_EQ(view.gcd, 0);
        CHECK(!view.reconfigurable);
        CHECK_INT_EQ(view.ipu_count, 1);
        CHECK_STR_EQ(view.ipus[0].device.ip, "10.1.5.10");
        CHECK_STR_EQ(view.ipus[0].device.chip_id, "c3");
        CHECK_STR_EQ(gcd_view_routing(&view), "DNC");
    }
}

TEST(what_is_no_configuration_is_rejected_with_its_reason)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"", "empty text"},
        {"{\"devices\":[", "invalid JSON"},
        {"\"devices\"", "no array \"devices\""},
        {"{\"devices\":{}}", "no array \"devices\""},
        {"{\"devices\":[]}", "it has no devices"},
        {"[1]", "device 0: it is not an object"},
        {"[{\"routing_id\":-1}]", "device 0: \"routing_id\""},
        {"[{},{\"ipu_id\":\"3x\"}]", "device 1: \"ipu_id\""},
        {"[{\"ipu_id\":4294967296}]", "\"ipu_id\""},
        {"[{\"ipu_id\":1.5}]", "\"ipu_id\""},
        {"{\"attributes\":{\"GCD Id\":\"first\"},\"devices\":[{}]}", "\"GCD Id\""},
    };

    CHECK_ROWS (row, rows) {
        struct gcd_view view = {0};
        struct err err;

        CHECK_ERR(gcd_view_from_file(slice_of(row->text), "x", &view, &err), err, ERR_INVALID);
        CHECK_HAS(err.msg, row->part);
        CHECK(view.partition == NULL);
    }
}

TEST(a_file_cannot_forge_lines)
{
    static const char text[] =
        "{\"attributes\":{\"Partition Id\":\"p\\n-+- Id\"},\"devices\":[{\"ip\":\"1\\t2\"}]}";
    AUTO(gcd_view) struct gcd_view view = {0};
    struct err err;

    CHECK_OK(gcd_view_from_file(SLICE_LIT(text), "x", &view, &err), err);
    CHECK_STR_EQ(view.partition, "p\\n-+- Id");
    CHECK_STR_EQ(view.ipus[0].device.ip, "1\\t2");
}

TEST(domains_of_several_segments_keep_their_order)
{
    static const char text[] = "[{\"ipulink_segment_id\":1,\"routing_id\":0,\"ip\":\"c\"},"
                               "{\"ipulink_segment_id\":0,\"routing_id\":1,\"ip\":\"b\"},"
                               "{\"ipulink_segment_id\":0,\"routing_id\":0,\"ip\":\"a\"}]";
    AUTO(gcd_view) struct gcd_view view = {0};
    struct err err;

    CHECK_OK(gcd_view_from_file(SLICE_LIT(text), "x", &view, &err), err);
    CHECK_STR_EQ(view.ipus[0].device.ip, "a");
    CHECK_STR_EQ(view.ipus[1].device.ip, "b");
    CHECK_STR_EQ(view.ipus[2].device.ip, "c");
}
