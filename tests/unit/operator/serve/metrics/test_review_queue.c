/* Who waits for a review, and who comes first. */
#include "operator/serve/metrics/review_queue.h"

#include <stdio.h>

#include "lib/check.h"

#define MANY (REVIEWS_WAITING_MAX + REVIEWS_MAX)

static void add(struct review_queue *queue, struct review *review, const char *peer)
{
    CHECK(!review_queue_add(queue, review, peer));
}

static size_t start_all(struct review_queue *queue)
{
    size_t started = 0;

    while (review_queue_next(queue))
        started++;
    return started;
}

TEST(addresses_and_networks_have_a_share_of_the_reviews)
{
    static const struct {
        const char *begin, *end; /* a number is between them; end NULL: without one */
        size_t in_progress;
    } rows[] = {
        {"10.0.0.1", NULL, REVIEWS_OF_ADDRESS_MAX},
        {"::ffff:10.0.0.1", NULL, REVIEWS_OF_ADDRESS_MAX},
        {"unknown", NULL, REVIEWS_OF_ADDRESS_MAX},
        {"10.0.0.", "", REVIEWS_OF_NETWORK_MAX},
        {"fd00:0:0:1::", "", REVIEWS_OF_NETWORK_MAX},
        {"10.0.", ".1", REVIEWS_MAX},
        {"fd00:0:0:", "::1", REVIEWS_MAX},
    };

    CHECK_ROWS (row, rows) {
        struct review_queue queue = TAILQ_HEAD_INITIALIZER(queue);
        struct review reviews[2 * REVIEWS_MAX];

        for (unsigned i = 0; i < COUNT_OF(reviews); i++) {
            char peer[64];

            if (row->end)
                (void)snprintf(peer, sizeof(peer), "%s%u%s", row->begin, i, row->end);
            else
                (void)snprintf(peer, sizeof(peer), "%s", row->begin);
            add(&queue, &reviews[i], peer);
        }
        CHECK_INT_EQ(start_all(&queue), row->in_progress);
    }
}

/* Four addresses had all places, and others none. */
TEST(a_client_is_next_when_others_have_all_places)
{
    struct review_queue queue = TAILQ_HEAD_INITIALIZER(queue);
    struct review flood[32], own;

    for (size_t i = 0; i < COUNT_OF(flood); i++) {
        char peer[64];

        (void)snprintf(peer, sizeof(peer), "10.0.%zu.1", i % 4);
        add(&queue, &flood[i], peer);
    }
    CHECK_INT_EQ(start_all(&queue), REVIEWS_MAX);
    add(&queue, &own, "10.0.9.1");
    CHECK(!review_queue_next(&queue));
    review_queue_remove(&queue, &flood[0]);
    CHECK(review_queue_next(&queue) == &own);
    review_queue_remove(&queue, &flood[1]);
    CHECK(review_queue_next(&queue) == &flood[8]); /* the oldest of those with the fewest */
}

TEST(the_newest_of_the_address_with_the_most_has_to_go)
{
    struct review_queue queue = TAILQ_HEAD_INITIALIZER(queue);
    struct review flood[MANY], own, another;

    for (size_t i = 0; i < COUNT_OF(flood); i++) {
        char peer[64];

        (void)snprintf(peer, sizeof(peer), "10.0.%zu.1", i < 60 ? i : 99);
        add(&queue, &flood[i], peer);
        (void)review_queue_next(&queue);
    }
    CHECK(review_queue_add(&queue, &own, "10.0.200.1") == &flood[MANY - 1]);
    CHECK(review_queue_add(&queue, &another, "10.0.99.1") == &another);
    CHECK(queue.tqh_last == &TAILQ_NEXT(&own, entry));
}

/* From so many addresses that none has two. */
TEST(one_that_comes_when_all_have_one_has_to_go_itself)
{
    struct review_queue queue = TAILQ_HEAD_INITIALIZER(queue);
    struct review flood[REVIEWS_WAITING_MAX], own;

    for (size_t i = 0; i < COUNT_OF(flood); i++) {
        char peer[64];

        (void)snprintf(peer, sizeof(peer), "10.0.%zu.1", i);
        add(&queue, &flood[i], peer);
    }
    CHECK(review_queue_add(&queue, &own, "10.1.0.1") == &own);
}
