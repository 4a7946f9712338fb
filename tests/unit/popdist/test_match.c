#include "popdist/src/core/match.h"

#include <string.h>

#include "lib/check.h"

#define INSTANCES 3
#define SELF 1

struct table {
    struct match *match;
    struct group *group;
};

struct pod_index {
    struct match_op match_op;
    struct match_announcement *from[INSTANCES];
};

static struct table set_up(void)
{
    struct table table = {0};

    CHECK_INT_EQ(match_new(&table.match, NULL), POPDIST_OK);
    CHECK_INT_EQ(group_new("all", NULL, INSTANCES, SELF, &table.group, NULL), POPDIST_OK);
    return table;
}

static void clear(struct table *table)
{
    match_free(table->match);
    group_free(table->group);
}

static void open_call(struct table *table, struct pod_index *pod_index, const char *key)
{
    *pod_index = (struct pod_index){.match_op = {.key = key, .key_size = strlen(key), .group = table->group}};
    pod_index->match_op.from = pod_index->from;
    CHECK_INT_EQ(match_open(table->match, &pod_index->match_op, NULL), POPDIST_OK);
}

static void close_call(struct pod_index *pod_index)
{
    CHECK_INT_EQ(match_close(&pod_index->match_op, NULL), POPDIST_OK);
}

static void announce(struct table *table, uint32_t instance, const char *key, uint32_t tag)
{
    struct wire_message message = {.kind = WIRE_CALL, .tag = tag, .key = key, .key_size = strlen(key)};

    CHECK_INT_EQ(match_take(table->match, &message, instance, NULL), POPDIST_OK);
}

static bool set_state(struct table *table, uint32_t instance, const char *key, uint32_t tag,
                      enum announcement_state state)
{
    struct wire_message message = {.tag = tag, .key = key, .key_size = strlen(key)};

    return match_set_state(table->match, &message, instance, state);
}

TEST(early_and_late_announcements_find_their_call)
{
    struct table table = set_up();
    struct pod_index first, second;

    announce(&table, 0, "k", 10);
    announce(&table, 0, "k", 11);
    announce(&table, 2, "other", 99);
    open_call(&table, &first, "k");
    CHECK_INT_EQ(first.match_op.missing, 1);
    CHECK_INT_EQ(first.from[0]->tag, 10);
    open_call(&table, &second, "k");
    CHECK_INT_EQ(second.from[0]->tag, 11);
    announce(&table, 2, "k", 20);
    announce(&table, 2, "k", 21);
    CHECK_INT_EQ(first.match_op.missing, 0);
    CHECK_INT_EQ(second.match_op.missing, 0);
    CHECK_INT_EQ(first.from[2]->tag, 20);
    CHECK_INT_EQ(second.from[2]->tag, 21);
    close_call(&second);
    close_call(&first);
    clear(&table);
}

TEST(a_call_that_gave_up_keeps_its_late_announcement_from_the_next)
{
    struct table table = set_up();
    struct pod_index pod_index;

    open_call(&table, &pod_index, "k");
    announce(&table, 0, "k", 10);
    close_call(&pod_index);
    /* Instance 2 now announces the call that is over, and only then the next. */
    announce(&table, 2, "k", 20);
    open_call(&table, &pod_index, "k");
    CHECK_INT_EQ(pod_index.match_op.missing, 2);
    announce(&table, 2, "k", 21);
    announce(&table, 0, "k", 11);
    CHECK_INT_EQ(pod_index.match_op.missing, 0);
    CHECK_INT_EQ(pod_index.from[0]->tag, 11);
    CHECK_INT_EQ(pod_index.from[2]->tag, 21);
    close_call(&pod_index);
    clear(&table);
}

TEST(an_abort_reaches_the_call_it_means_and_no_other)
{
    struct table table = set_up();
    struct pod_index early, later;

    announce(&table, 0, "k", 10);
    CHECK(set_state(&table, 0, "k", 10, ABORTED));
    announce(&table, 0, "k", 11);
    open_call(&table, &early, "k");
    CHECK(early.match_op.aborted == early.from[0]);
    open_call(&table, &later, "k");
    CHECK(!later.match_op.aborted);
    CHECK(!set_state(&table, 0, "k", 12, ABORTED));
    CHECK(!set_state(&table, 2, "k", 11, ABORTED));
    CHECK(!set_state(&table, 0, "unknown", 11, ABORTED));
    CHECK(!later.match_op.aborted);
    CHECK(set_state(&table, 0, "k", 11, ABORTED));
    CHECK(later.match_op.aborted == later.from[0]);
    close_call(&early);
    close_call(&later);
    clear(&table);
}

TEST(a_call_counts_who_prepares_to_abort_it_until_it_begins)
{
    struct table table = set_up();
    struct pod_index pod_index;

    announce(&table, 0, "k", 10);
    CHECK(set_state(&table, 0, "k", 10, ABORT_PREPARED));
    open_call(&table, &pod_index, "k");
    announce(&table, 2, "k", 20);
    CHECK_INT_EQ(pod_index.match_op.prepared, 1);
    CHECK(set_state(&table, 2, "k", 20, ABORT_PREPARED));
    CHECK_INT_EQ(pod_index.match_op.prepared, 2);
    CHECK(set_state(&table, 0, "k", 10, ANNOUNCED));
    CHECK(set_state(&table, 2, "k", 20, ANNOUNCED));
    CHECK_INT_EQ(pod_index.match_op.prepared, 0);
    pod_index.match_op.begun = true;
    CHECK(!set_state(&table, 2, "k", 20, ABORT_PREPARED));
    close_call(&pod_index);
    CHECK(!set_state(&table, 2, "k", 20, ABORT_PREPARED));
    clear(&table);
}

TEST(it_tells_who_waits_for_a_call_that_has_not_come)
{
    struct table table = set_up();
    struct pod_index pod_index;
    const char *key;
    size_t size;

    CHECK(!match_find_early(table.match, &key, &size));
    announce(&table, 2, "k", 20);
    CHECK_INT_EQ(match_find_early(table.match, &key, &size)->instance, 2);
    CHECK(size == 1 && *key == 'k');
    CHECK(set_state(&table, 2, "k", 20, ABORTED));
    CHECK(!match_find_early(table.match, &key, &size));
    open_call(&table, &pod_index, "k");
    close_call(&pod_index);
    clear(&table);
}

TEST(unrequested_data_is_limited)
{
    struct table table = set_up();
    struct wire_message message = {.kind = WIRE_CALL, .key = "k", .key_size = 1};
    struct popdist_error error = {0};
    uint32_t taken = 0;

    while (taken <= MATCH_EARLY_MAX && match_take(table.match, &message, 2, &error) == POPDIST_OK) {
        /* A key of its own each, or the list of one key grows long. */
        message.key = (const char *)&taken;
        message.key_size = sizeof taken;
        taken++;
    }
    CHECK_INT_EQ(taken, MATCH_EARLY_MAX);
    CHECK_INT_EQ(error.status, POPDIST_BROKEN);
    CHECK_HAS(error.text, "(last: instance 2); call the same operations on every instance");
    clear(&table);
}
