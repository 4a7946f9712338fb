/* What an agent does about those who may not come in: whom it turns away first, and what it says of it. */
#include <string.h>

#include "launcher/remote/crowd.h"
#include "launcher/remote/hush.h"
#include "lib/check.h"

TEST(of_one_address_the_first_goes)
{
    const struct crowd_member members[] = {{{1}, 7}, {{1}, 3}, {{1}, 5}};

    CHECK_INT_EQ(crowd_choose(members, 3), 1);
    CHECK_INT_EQ(crowd_choose(members, 1), 0);
}

TEST(a_flood_pushes_out_itself)
{
    const struct crowd_member members[] = {{{9}, 1}, {{1}, 2}, {{1}, 3}, {{2}, 4}, {{1}, 5}};

    CHECK_INT_EQ(crowd_choose(members, 5), 1);
}

TEST(of_many_addresses_the_first_goes)
{
    const struct crowd_member members[] = {{{1}, 12}, {{2}, 10}, {{3}, 11}};

    CHECK_INT_EQ(crowd_choose(members, 3), 1);
}

TEST(a_flood_makes_one_line_a_minute)
{
    struct hush hush = {0};
    uint64_t more = 99, told = 0;

    for (int64_t now_ms = 1000; now_ms < 1000 + 3 * HUSH_MS; now_ms++)
        if (hush_may_tell(&hush, REFUSAL_KEY, now_ms, &more)) {
            CHECK_INT_EQ(more, told ? HUSH_MS - 1 : 0);
            told++;
        }
    CHECK_INT_EQ(told, 3);
}

TEST(each_reason_is_told_for_itself)
{
    struct hush hush = {0};
    uint64_t more;

    CHECK(hush_may_tell(&hush, REFUSAL_KEY, 0, &more));
    CHECK(hush_may_tell(&hush, REFUSAL_OLD, 0, &more));
    CHECK(!hush_may_tell(&hush, REFUSAL_KEY, 0, &more));
}
