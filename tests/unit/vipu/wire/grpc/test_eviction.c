/* Which connections are closed when a server's connections or its memory are used up. */
#include "lib/check.h"

#include "base/core/mem.h"
#include "vipu/wire/grpc/eviction.h"

/* From the one that is closed first to the one that is closed last. */
TEST(those_without_a_call_then_of_large_peers_then_the_idle_are_closed)
{
    static const struct eviction_candidate order[] = {
        {.peer_connections = 9, .since_ms = 500},
        {.peer_connections = 1, .since_ms = 100},
        {.peer_connections = 1, .since_ms = 200},
        {.is_known = true, .peer_connections = 9, .since_ms = 900},
        {.is_known = true, .peer_connections = 1, .since_ms = 100},
        {.is_known = true, .peer_connections = 1, .since_ms = 200},
        {.is_busy = true, .peer_connections = 9, .since_ms = 0},
        {.is_busy = true, .is_known = true, .peer_connections = 1, .since_ms = 0},
    };

    for (size_t a = 0; a < COUNT_OF(order); a++)
        for (size_t b = 0; b < COUNT_OF(order); b++)
            CHECK_INT_EQ(eviction_precedes_for_connection(&order[a], &order[b]), a < b);
}

TEST(a_connection_in_use_is_closed_only_beyond_its_peers_share)
{
    static const struct {
        struct eviction_candidate s;
        uint32_t newcomer;
        bool may;
    } rows[] = {
        {{.peer_connections = 1}, 9, true},
        {{.is_pinned = true, .peer_connections = 1}, 1, false},
        {{.is_busy = true, .peer_connections = 4}, 1, false},
        {{.is_busy = true, .peer_connections = 5}, 1, true},
        {{.is_busy = true, .peer_connections = 5}, 4, true},
        {{.is_busy = true, .peer_connections = 5}, 5, false}, /* the newcomer's peer has its share, too */
        {{.is_busy = true, .is_pinned = true, .peer_connections = 5}, 1, false},
    };

    CHECK_ROWS (row, rows) {
        CHECK_INT_EQ(eviction_is_allowed_for_connection(&row->s, row->newcomer, 4), row->may);
    }
}

TEST(those_that_read_nothing_or_have_more_are_closed_for_memory)
{
    static const struct eviction_candidate order[] = {
        {.is_stalled = true, .bytes = 20}, {.is_stalled = true, .bytes = 10}, {.bytes = 30}, {.bytes = 5}};
    static const struct eviction_candidate pinned = {.is_pinned = true, .is_stalled = true, .bytes = 30},
                                           empty = {0};

    for (size_t a = 0; a < COUNT_OF(order); a++)
        for (size_t b = 0; b < COUNT_OF(order); b++)
            CHECK_INT_EQ(eviction_precedes_for_memory(&order[a], &order[b]), a < b);
    CHECK(eviction_is_allowed_for_memory(&order[1], 100));
    CHECK(eviction_is_allowed_for_memory(&order[2], 29));
    CHECK(!eviction_is_allowed_for_memory(&order[2], 30));
    CHECK(!eviction_is_allowed_for_memory(&pinned, 1));
    CHECK(!eviction_is_allowed_for_memory(&empty, 0));
}
