/* What an agent does about those who may not come in: whom it turns away first, and what it says of it. */
#include <string.h>

#include "launcher/remote/agent/conn_eviction.h"
#include "launcher/remote/agent/log_ratelimit.h"
#include "lib/check.h"

TEST(of_one_address_the_first_goes)
{
    const struct conn_origin members[] = {{{1}, 7, false}, {{1}, 3, false}, {{1}, 5, false}};

    CHECK_INT_EQ(conn_eviction_pick(members, 3), 1);
    CHECK_INT_EQ(conn_eviction_pick(members, 1), 0);
}

TEST(a_flood_pushes_out_itself)
{
    const struct conn_origin members[] = {
        {{9}, 1, false}, {{1}, 2, false}, {{1}, 3, false}, {{2}, 4, false}, {{1}, 5, false}};

    CHECK_INT_EQ(conn_eviction_pick(members, 5), 1);
}

TEST(of_many_addresses_the_first_goes)
{
    const struct conn_origin members[] = {{{1}, 12, false}, {{2}, 10, false}, {{3}, 11, false}};

    CHECK_INT_EQ(conn_eviction_pick(members, 3), 1);
}

TEST(a_client_with_the_key_stays)
{
    const struct conn_origin flood[] = {{{1}, 1, true}, {{1}, 2, false}, {{1}, 3, false}, {{2}, 0, false}},
                             keys[] = {{{2}, 1, true}, {{1}, 4, true}, {{1}, 2, true}};

    CHECK_INT_EQ(conn_eviction_pick(flood, 4), 1);
    CHECK_INT_EQ(conn_eviction_pick(keys, 3), 2); /* unless all have it */
}

TEST(a_flood_makes_one_line_a_minute)
{
    struct log_ratelimit log_ratelimit = {0};
    uint64_t more = 99, told = 0;

    for (int64_t now_ms = 1000; now_ms < 1000 + 3 * LOG_RATELIMIT_INTERVAL_MS; now_ms++)
        if (log_ratelimit_allow(&log_ratelimit, REJECTION_KEY, now_ms, &more)) {
            CHECK_INT_EQ(more, told ? LOG_RATELIMIT_INTERVAL_MS - 1 : 0);
            told++;
        }
    CHECK_INT_EQ(told, 3);
}

TEST(each_reason_is_reported_for_itself)
{
    struct log_ratelimit log_ratelimit = {0};
    uint64_t more;

    CHECK(log_ratelimit_allow(&log_ratelimit, REJECTION_KEY, 0, &more));
    CHECK(log_ratelimit_allow(&log_ratelimit, REJECTION_STALE_ATTEMPT, 0, &more));
    CHECK(!log_ratelimit_allow(&log_ratelimit, REJECTION_KEY, 0, &more));
}
