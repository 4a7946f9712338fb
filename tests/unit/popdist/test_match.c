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

static void arrive(struct table *table, uint32_t instance, const char *key, uint32_t tag, enum wire_kind kind)
{
    struct wire_message message = {.kind = kind, .tag = tag, .key = key, .key_size = strlen(key)};

    CHECK_INT_EQ(match_take(table->match, &message, instance, NULL), POPDIST_OK);
}

TEST(early_and_late_announcements_find_their_call)
{
    struct table table = set_up();
    struct pod_index first, second;

    arrive(&table, 0, "k", 10, WIRE_CALL);
    arrive(&table, 0, "k", 11, WIRE_CALL);
    arrive(&table, 2, "other", 99, WIRE_CALL);
    open_call(&table, &first, "k");
    CHECK_INT_EQ(first.match_op.missing, 1);
    CHECK_INT_EQ(first.from[0]->tag, 10);
    open_call(&table, &second, "k");
    CHECK_INT_EQ(second.from[0]->tag, 11);
    arrive(&table, 2, "k", 20, WIRE_CALL);
    arrive(&table, 2, "k", 21, WIRE_CALL);
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
    arrive(&table, 0, "k", 10, WIRE_CALL);
    close_call(&pod_index);
    /* Instance 2 now announces the call that is over, and only then the next. */
    arrive(&table, 2, "k", 20, WIRE_CALL);
    open_call(&table, &pod_index, "k");
    CHECK_INT_EQ(pod_index.match_op.missing, 2);
    arrive(&table, 2, "k", 21, WIRE_CALL);
    arrive(&table, 0, "k", 11, WIRE_CALL);
    CHECK_INT_EQ(pod_index.match_op.missing, 0);
    CHECK_INT_EQ(pod_index.from[0]->tag, 11);
    CHECK_INT_EQ(pod_index.from[2]->tag, 21);
    close_call(&pod_index);
    clear(&table);
}

TEST(a_withdrawal_reaches_the_call_it_means_and_no_other)
{
    struct table table = set_up();
    struct pod_index early, later;

    arrive(&table, 0, "k", 10, WIRE_CALL);
    arrive(&table, 0, "k", 10, WIRE_WITHDRAWAL);
    arrive(&table, 0, "k", 11, WIRE_CALL);
    open_call(&table, &early, "k");
    CHECK(early.match_op.withdrawn == early.from[0]);
    open_call(&table, &later, "k");
    CHECK(!later.match_op.withdrawn);
    arrive(&table, 0, "k", 12, WIRE_WITHDRAWAL);
    arrive(&table, 2, "k", 11, WIRE_WITHDRAWAL);
    CHECK(!later.match_op.withdrawn);
    arrive(&table, 0, "k", 11, WIRE_WITHDRAWAL);
    CHECK(later.match_op.withdrawn == later.from[0]);
    close_call(&early);
    close_call(&later);
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
