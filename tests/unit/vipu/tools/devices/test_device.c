#include "lib/check.h"

#include "vipu/tools/devices/device.h"

/* The five recorded data points of `id = 2N - 2N/s + g`: 16 IPUs for four instances of four give devices 24,
 * 25, 26 and 27. Of 4 IPUs, device 4 is {0,1}, 5 is {2,3}, 6 is {0,1,2,3}. A program attaches to device 6 of
 * a 4-IPU partition. Of 16 IPUs the largest single id is 15 and the largest multi id 30. Singles of a 64-IPU
 * pod are 0 to 63. */
TEST(the_five_recorded_data_points)
{
    static const struct {
        const char *point;
        uint32_t ipus, id, first, count;
    } rows[] = {
        {"16 IPUs, four instances of four", 16, 24, 0, 4},
        {"16 IPUs, four instances of four", 16, 25, 4, 4},
        {"16 IPUs, four instances of four", 16, 26, 8, 4},
        {"16 IPUs, four instances of four", 16, 27, 12, 4},
        {"a listing of 4 IPUs", 4, 4, 0, 2},
        {"a listing of 4 IPUs", 4, 5, 2, 2},
        {"a listing of 4 IPUs", 4, 6, 0, 4},
        {"\"Attached to device 6\", with 4 IPUs", 4, 6, 0, 4},
        {"the largest ids of 16 IPUs", 16, 15, 15, 1},
        {"the largest ids of 16 IPUs", 16, 30, 0, 16},
        {"the singles of a 64-IPU pod", 64, 0, 0, 1},
        {"the singles of a 64-IPU pod", 64, 63, 63, 1},
        {"the singles of a 64-IPU pod", 64, 64, 0, 2},
    };

    CHECK_ROWS (row, rows) {
        struct device device = {0};

        CHECK(device_find(row->ipus, true, row->id, &device));
        CHECK_INT_EQ(device.first, row->first);
        CHECK_INT_EQ(device.count, row->count);
        CHECK_INT_EQ(device.id, row->id);
    }
}

/* reference, 6.1: "total = 2N - 1 devices". */
TEST(every_number_of_a_reconfigurable_domain_is_one_aligned_device)
{
    for (uint32_t ipus = 1; ipus <= 1024; ipus *= 2) {
        struct device device, before = {0};

        CHECK_INT_EQ(device_total(ipus, true), 2 * ipus - 1);
        for (uint32_t id = 0; id < 2 * ipus - 1; id++) {
            CHECK(device_find(ipus, true, id, &device));
            CHECK_INT_EQ(device.first % device.count, 0);
            CHECK(device.first + device.count <= ipus);
            /* Either the next of the same size, or the first of the next size. */
            if (id > 0)
                CHECK(device.count == before.count ? device.first == before.first + before.count
                                                   : device.first == 0 && device.count == 2 * before.count);
            before = device;
        }
        CHECK(!device_find(ipus, true, 2 * ipus - 1, &device));
    }
}

/* reference, 6.2: "Size 2 with 2 GCDs: only ids 0 and 1, no multi-IPU device"; "per GCD of m IPUs, singles
 * 0...m-1 and, when m > 1, one multi device with id m". */
TEST(a_fixed_domain_offers_singles_and_the_whole)
{
    struct device device = {0};

    CHECK_INT_EQ(device_total(1, false), 1);
    CHECK(device_find(1, false, 0, &device));
    CHECK(!device_find(1, false, 1, &device));
    CHECK_INT_EQ(device_total(4, false), 5);
    CHECK(device_find(4, false, 4, &device));
    CHECK_INT_EQ(device.first, 0);
    CHECK_INT_EQ(device.count, 4);
    CHECK(!device_find(4, false, 5, &device));
}

TEST(a_number_of_ipus_that_no_tree_has_counts_as_fixed)
{
    struct device device = {0};

    CHECK_INT_EQ(device_total(6, true), 7);
    CHECK(device_find(6, true, 6, &device));
    CHECK_INT_EQ(device.count, 6);
    CHECK_INT_EQ(device_total(0, true), 0);
    CHECK(!device_find(0, true, 0, &device));
}
