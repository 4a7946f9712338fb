/* Who is next in the queue, whoever has come and gone. */
#include "operator/reconcile/state/claim_order.h"

#include "lib/check.h"

#define JOBS 3000u /* many blocks */

/* Any pointer is a job to it. */
static char jobs[JOBS];

static struct job_cache *job_at(unsigned position)
{
    return (struct job_cache *)(void *)&jobs[position];
}

/* Position 0 is the first. */
static struct claim_key key_at(unsigned position)
{
    return (struct claim_key){
        .priority = (int32_t)(10 - position / 500), .turn_s = position / 50, .arrival = position};
}

/* Whoever the order has is met once, in place. */
static void check_walk(const struct claim_order *order, const bool *is_in)
{
    struct claim_key key;
    size_t count = 0;
    struct job_cache *job = claim_order_next(order, NULL, &key);

    for (unsigned i = 0; i < JOBS; i++) {
        struct claim_key wanted = key_at(i);

        CHECK(claim_order_get(order, &wanted) == (is_in[i] ? job_at(i) : NULL));
        if (!is_in[i])
            continue;
        CHECK(job == job_at(i));
        CHECK_INT_EQ(claim_key_compare(&key, &wanted), 0);
        job = claim_order_next(order, &wanted, &key);
        count++;
    }
    CHECK(!job);
    CHECK_INT_EQ(order->count, count);
}

TEST(jobs_are_in_order_whenever_they_come_and_go)
{
    struct claim_order order = {0};
    static bool is_in[JOBS];

    check_walk(&order, is_in);
    for (unsigned i = 0; i < JOBS; i++) { /* in an order that is none */
        unsigned position = i * 1387 % JOBS;
        struct claim_key key = key_at(position);

        claim_order_add(&order, &key, job_at(position));
        is_in[position] = true;
        if (i == JOBS / 2)
            check_walk(&order, is_in);
    }
    check_walk(&order, is_in);
    for (unsigned i = 0; i < JOBS; i++) {
        unsigned position = i * 1009 % JOBS;
        struct claim_key key = key_at(position);

        claim_order_remove(&order, &key);
        claim_order_remove(&order, &key); /* nothing */
        is_in[position] = false;
        if (i == JOBS / 2)
            check_walk(&order, is_in);
    }
    check_walk(&order, is_in);
    CHECK_INT_EQ(order.block_count, 0);
    claim_order_release(&order);
}

TEST(a_walk_goes_on_behind_one_who_has_left)
{
    struct claim_order order = {0};
    struct claim_key first = key_at(1), second = key_at(2), third = key_at(3), found;

    claim_order_add(&order, &first, job_at(1));
    claim_order_add(&order, &third, job_at(3));
    CHECK(claim_order_next(&order, &second, &found) == job_at(3));
    claim_order_remove(&order, &third);
    CHECK(!claim_order_next(&order, &second, &found));
    claim_order_release(&order);
}
