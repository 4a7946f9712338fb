/* Who yields when a server's connections or its memory are used up. */
#include "lib/check.h"

#include "base/core/mem.h"
#include "vipu/wire/grpc/standing.h"

/* From the one that yields its place first to the one that yields it last. */
TEST(strangers_then_large_peers_then_the_idle_yield_their_places)
{
    static const struct standing order[] = {
        {.siblings = 9, .since_ms = 500},
        {.siblings = 1, .since_ms = 100},
        {.siblings = 1, .since_ms = 200},
        {.is_known = true, .siblings = 9, .since_ms = 900},
        {.is_known = true, .siblings = 1, .since_ms = 100},
        {.is_known = true, .siblings = 1, .since_ms = 200},
        {.is_busy = true, .siblings = 9, .since_ms = 0},
        {.is_busy = true, .is_known = true, .siblings = 1, .since_ms = 0},
    };

    for (size_t a = 0; a < COUNT_OF(order); a++)
        for (size_t b = 0; b < COUNT_OF(order); b++)
            CHECK_INT_EQ(standing_yields_place(&order[a], &order[b]), a < b);
}

TEST(a_connection_in_use_yields_only_beyond_its_peers_share)
{
    static const struct {
        struct standing s;
        uint32_t newcomer;
        bool may;
    } rows[] = {
        {{.siblings = 1}, 9, true},
        {{.is_pinned = true, .siblings = 1}, 1, false},
        {{.is_busy = true, .siblings = 4}, 1, false},
        {{.is_busy = true, .siblings = 5}, 1, true},
        {{.is_busy = true, .siblings = 5}, 4, true},
        {{.is_busy = true, .siblings = 5}, 5, false}, /* the newcomer's peer has its share, too */
        {{.is_busy = true, .is_pinned = true, .siblings = 5}, 1, false},
    };

    CHECK_ROWS (row, rows) {
        CHECK_INT_EQ(standing_may_yield_place(&row->s, row->newcomer, 4), row->may);
    }
}

TEST(who_reads_nothing_or_has_more_yields_memory)
{
    static const struct standing order[] = {
        {.is_stalled = true, .bytes = 20}, {.is_stalled = true, .bytes = 10}, {.bytes = 30}, {.bytes = 5}};
    static const struct standing pinned = {.is_pinned = true, .is_stalled = true, .bytes = 30}, empty = {0};

    for (size_t a = 0; a < COUNT_OF(order); a++)
        for (size_t b = 0; b < COUNT_OF(order); b++)
            CHECK_INT_EQ(standing_yields_memory(&order[a], &order[b]), a < b);
    CHECK(standing_may_yield_memory(&order[1], 100));
    CHECK(standing_may_yield_memory(&order[2], 29));
    CHECK(!standing_may_yield_memory(&order[2], 30));
    CHECK(!standing_may_yield_memory(&pinned, 1));
    CHECK(!standing_may_yield_memory(&empty, 0));
}
