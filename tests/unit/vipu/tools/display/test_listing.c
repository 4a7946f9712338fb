#include "lib/check.h"

#include "base/core/mem.h"
#include "lib/golden.h"
#include "machines.h"
#include "vipu/tools/display/attributes.h"
#include "vipu/tools/display/listing.h"

static const struct machine_row one[] = {{"10.1.5.10", "0114.8204521"}};
static const struct machine_row other[] = {{"10.1.5.12", "0115.8204521"}};
/* The listing of partition p1 on one machine. */
struct listing {
    struct machines p1;
    struct str out;
};

static void listing_init(struct listing *l)
{
    *l = (struct listing){.p1 = machines_make("p1", one, 4)};
}

static void listing_release(struct listing *l)
{
    machines_release(&l->p1);
    str_release(&l->out);
}

static const struct device first = {.id = 0, .first = 0, .count = 1};

/* gc-info -l prints Graphcore device listing: and Partition: p1 [active];
 * gc-info prints -+- Id: [0], target: [Fabric], IPU-M host: [10.1.5.10], IPU#: [3];
 * gc-info prints -+- Id: [4], target: [Multi IPU] and its IPUs with their DNC Id. */
TEST_F(listing, l, a_listing_of_four_ipus)
{
    listing_print(&l->p1.view, 1, false, &l->out);
    golden_check("tools/list_devices.txt", str_text(&l->out));
}

/* reference, 6.4: "--all-partitions lists the other partitions after the active one, singles only, ids
 * continuing". */
TEST_F(listing, l, a_listing_of_all_partitions)
{
    AUTO(machines) struct machines p2 = machines_make("p2", other, 4);

    p2.view.active = false;
    listing_print((struct gcd_view[]){l->p1.view, p2.view}, 2, true, &l->out);
    golden_check("tools/list_all_partitions.txt", str_text(&l->out));
}

/* reference, 6.4: `text "DNC" being the routing type name` (6.3). */
TEST_F(listing, l, the_routing_type_names_the_place_in_a_device)
{
    l->p1.view.routing = VIPU_ROUTING_RINGSWNC;
    listing_print(&l->p1.view, 1, false, &l->out);
    CHECK_HAS(str_text(&l->out), " |--- Id: [2], RINGSWNC Id: [0], IPU-M host: [10.1.5.10], IPU#: [1]\n");
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
TEST_F(listing, l, the_attributes_of_a_device_with_all_that_is_known)
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

    for (size_t i = 0; i < COUNT_OF(told); i++)
        machines_tell(&l->p1, 0, told[i][0], told[i][1]);
    attributes_print(&l->p1.view, &first, NULL, &l->out);
    golden_check("tools/device_attributes.txt", str_text(&l->out));
}

/* reference, 6.4: "in use also: user executable, user name, user process id, process start time". */
TEST_F(listing, l, a_device_in_use_names_its_user)
{
    struct lock_record holder = {.count = 1, .pid = 38641, .since_unix_s = 1637621208};

    lock_record_set_text(holder.user, "justina");
    lock_record_set_text(holder.command, "gc-hosttraffictest");
    attributes_print(&l->p1.view, &first, &holder, &l->out);
    CHECK_HAS(str_text(&l->out), "process start time: 20211122T224648Z\n");
    CHECK_HAS(str_text(&l->out),
              "user executable: gc-hosttraffictest\nuser name: justina\nuser process id: 38641\n");
}

TEST_F(listing, l, the_ipus_of_a_device_stand_side_by_side_where_they_differ)
{
    attributes_print(&l->p1.view, &(struct device){.id = 5, .first = 2, .count = 2}, NULL, &l->out);
    CHECK_HAS(str_text(&l->out), "id: 5\ntarget: Multi IPU\n");
    CHECK_HAS(str_text(&l->out), "board ipu index: 1, 0\n");
    CHECK_HAS(str_text(&l->out), "board serial number: 0114.0001.8204521\n");
    CHECK_HAS(str_text(&l->out), "ipuof routing id: 2, 3\n");
}

/* Values end in C, MHz, W, % and GT/s, or are N/A. */
TEST_F(listing, l, values_keep_their_units)
{
    static const char *const told[][2] = {{"average board temp", "21.1 C"},
                                          {"ipu power", "92.3 W"},
                                          {"ipu utilisation", "99.96%"},
                                          {"link speed", "16 GT/s"}};

    for (size_t i = 0; i < COUNT_OF(told); i++)
        machines_tell(&l->p1, 0, told[i][0], told[i][1]);
    attributes_print(&l->p1.view, &first, NULL, &l->out);
    CHECK_HAS(str_text(&l->out), "average board temp: 21.1 C\naverage die temp: N/A\n");
    CHECK_HAS(str_text(&l->out), "clock: 1330MHz\n");
    CHECK_HAS(str_text(&l->out), "ipu power: 92.3 W\nipu utilisation: 99.96%\n");
    CHECK_HAS(str_text(&l->out), "link speed: 16 GT/s\n");
}

TEST_F(listing, l, chip_ids)
{
    listing_chip_ids(&l->p1.view, &(struct device){.id = 5, .first = 2, .count = 2}, &l->out);
    CHECK_STR_EQ(str_text(&l->out), "Id: [2], chip id: [10.1.5.10-1]\nId: [3], chip id: [10.1.5.10-0]\n");
}

TEST_F(listing, l, tiles_of_one_ipu)
{
    listing_tiles(&l->p1.view, &first, &l->out);
    golden_check("tools/tile_overview.txt", str_text(&l->out));
}

TEST_F(listing, l, short_answers_say_each_value_once)
{
    listing_architecture(&l->p1.view, &(struct device){.count = 4}, &l->out);
    listing_clock(&l->p1.view, &(struct device){.count = 4}, &l->out);
    CHECK_STR_EQ(str_text(&l->out), "ipu2\n1330MHz\n");
}
