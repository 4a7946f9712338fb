#include "lib/check.h"

#include "base/core/mem.h"
#include "lib/golden.h"
#include "machines.h"
#include "vipu/tools/display/attributes.h"
#include "vipu/tools/display/listing.h"

static const struct machine_row one[] = {{"10.1.5.10", "0114.8204521"}};
static const struct machine_row other[] = {{"10.1.5.12", "0115.8204521"}};
static const struct device first = {.id = 0, .first = 0, .count = 1};

/* gc-info -l prints Graphcore device listing: and Partition: p1 [active];
 * gc-info prints -+- Id: [0], target: [Fabric], IPU-M host: [10.1.5.10], IPU#: [3];
 * gc-info prints -+- Id: [4], target: [Multi IPU] and its IPUs with their DNC Id. */
TEST(a_listing_of_four_ipus)
{
    AUTO(machines) struct machines p1 = machines_make("p1", one, 4);
    AUTO(str) struct str out = {0};

    listing_print(&p1.view, 1, false, &out);
    golden_check("tools/list_devices.txt", str_text(&out));
}

/* reference, 6.4: "--all-partitions lists the other partitions after the active one, singles only, ids
 * continuing". */
TEST(a_listing_of_all_partitions)
{
    AUTO(machines) struct machines p1 = machines_make("p1", one, 4);
    AUTO(machines) struct machines p2 = machines_make("p2", other, 4);
    AUTO(str) struct str out = {0};

    p2.view.active = false;
    listing_print((struct gcd_view[]){p1.view, p2.view}, 2, true, &out);
    golden_check("tools/list_all_partitions.txt", str_text(&out));
}

/* reference, 6.4: `text "DNC" being the routing type name` (6.3). */
TEST(the_routing_type_names_the_place_in_a_device)
{
    AUTO(machines) struct machines p1 = machines_make("p1", one, 4);
    AUTO(str) struct str out = {0};

    p1.view.routing = VIPU_ROUTING_RINGSWNC;
    listing_print(&p1.view, 1, false, &out);
    CHECK_HAS(str_text(&out), " |--- Id: [2], RINGSWNC Id: [0], IPU-M host: [10.1.5.10], IPU#: [1]\n");
}

TEST(the_domains_of_one_partition_share_its_heading)
{
    AUTO(machines) struct machines a = machines_make("p1", one, 1);
    AUTO(machines) struct machines b = machines_make("p1", other, 1);
    AUTO(str) struct str out = {0};

    b.view.active = false;
    b.view.gcd = 1;
    listing_print((struct gcd_view[]){a.view, b.view}, 2, true, &out);
    CHECK_STR_EQ(str_text(&out), "Graphcore device listing:\n"
                                 "Partition: p1 [active]\n"
                                 "-+- Id: [0], target: [Fabric], IPU-M host: [10.1.5.10], IPU#: [3]\n"
                                 "-+- Id: [1], target: [Fabric], IPU-M host: [10.1.5.12], IPU#: [3]\n");
}

/* gc-info --device-info prints its keys in the recorded order. */
TEST(the_attributes_of_a_device_with_all_that_is_known)
{
    static const char *const told[][2] = {
        {"board variant", "M2000"},
        {"config domain", "94414229001808"},
        {"driver version", "1.0.56"},
        {"firmware major version", "2"},
        {"firmware minor version", "4"},
        {"firmware patch version", "4"},
        {"gateway software version", "2.4.2"},
        {"hexoatt active size (bytes)", "0"},
        {"hexoatt total size (bytes)", "34082914304"},
        {"hexopt active size (bytes)", "0"},
        {"hexopt total size (bytes)", "268435456"},
        {"host link correctable error count", "2932108"},
        {"ipu architecture", "ipu2"},
        {"ipu error state", "no errors"},
        {"ipu utilisation", "0.00%"},
        {"ipu utilisation (session)", "0.00%"},
        {"link correctable error count", "0"},
        {"link speed", "16 GT/s"},
        {"link width", "8"},
        {"pcie physical slot", "3"},
    };
    AUTO(machines) struct machines p1 = machines_make("p1", one, 4);
    AUTO(str) struct str out = {0};

    for (size_t i = 0; i < COUNT_OF(told); i++)
        machines_tell(&p1, 0, told[i][0], told[i][1]);
    attributes_print(&p1.view, &first, NULL, &out);
    golden_check("tools/device_attributes.txt", str_text(&out));
}

/* reference, 6.4: "in use also: user executable, user name, user process id, process start time". */
TEST(a_device_in_use_names_its_user)
{
    AUTO(machines) struct machines p1 = machines_make("p1", one, 4);
    AUTO(str) struct str out = {0};
    struct lock_record holder = {.count = 1, .pid = 38641, .since_unix_s = 1637621208};

    lock_record_set_text(holder.user, "justina");
    lock_record_set_text(holder.command, "gc-hosttraffictest");
    attributes_print(&p1.view, &first, &holder, &out);
    CHECK_HAS(str_text(&out), "process start time: 20211122T224648Z\n");
    CHECK_HAS(str_text(&out),
              "user executable: gc-hosttraffictest\nuser name: justina\nuser process id: 38641\n");
}

TEST(the_ipus_of_a_device_stand_side_by_side_where_they_differ)
{
    AUTO(machines) struct machines p1 = machines_make("p1", one, 4);
    AUTO(str) struct str out = {0};

    attributes_print(&p1.view, &(struct device){.id = 5, .first = 2, .count = 2}, NULL, &out);
    CHECK_HAS(str_text(&out), "id: 5\ntarget: Multi IPU\n");
    CHECK_HAS(str_text(&out), "board ipu index: 1, 0\n");
    CHECK_HAS(str_text(&out), "board serial number: 0114.0001.8204521\n");
    CHECK_HAS(str_text(&out), "ipuof routing id: 2, 3\n");
}

/* Values end in C, MHz, W, % and GT/s, or are N/A. */
TEST(values_keep_their_units)
{
    static const char *const told[][2] = {{"average board temp", "21.1 C"},
                                          {"ipu power", "92.3 W"},
                                          {"ipu utilisation", "99.96%"},
                                          {"link speed", "16 GT/s"}};
    AUTO(machines) struct machines p1 = machines_make("p1", one, 4);
    AUTO(str) struct str out = {0};

    for (size_t i = 0; i < COUNT_OF(told); i++)
        machines_tell(&p1, 0, told[i][0], told[i][1]);
    attributes_print(&p1.view, &first, NULL, &out);
    CHECK_HAS(str_text(&out), "average board temp: 21.1 C\naverage die temp: N/A\n");
    CHECK_HAS(str_text(&out), "clock: 1330MHz\n");
    CHECK_HAS(str_text(&out), "ipu power: 92.3 W\nipu utilisation: 99.96%\n");
    CHECK_HAS(str_text(&out), "link speed: 16 GT/s\n");
}

TEST(chip_ids)
{
    AUTO(machines) struct machines p1 = machines_make("p1", one, 4);
    AUTO(str) struct str out = {0};

    listing_chip_ids(&p1.view, &(struct device){.id = 5, .first = 2, .count = 2}, &out);
    CHECK_STR_EQ(str_text(&out), "Id: [2], chip id: [10.1.5.10-1]\nId: [3], chip id: [10.1.5.10-0]\n");
}

TEST(tiles_of_one_ipu)
{
    AUTO(machines) struct machines p1 = machines_make("p1", one, 4);
    AUTO(str) struct str out = {0};

    listing_tiles(&p1.view, &first, &out);
    golden_check("tools/tile_overview.txt", str_text(&out));
}

TEST(short_answers_say_each_value_once)
{
    AUTO(machines) struct machines p1 = machines_make("p1", one, 4);
    AUTO(str) struct str out = {0};

    listing_architecture(&p1.view, &(struct device){.count = 4}, &out);
    listing_clock(&p1.view, &(struct device){.count = 4}, &out);
    CHECK_STR_EQ(str_text(&out), "ipu2\n1330MHz\n");
}
