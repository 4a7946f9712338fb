/* The order in which requests get their reviews at the API server. A few are in progress at a time; the
 * others wait. Clients of one address, and of one network, have a share of the places, and who has the fewest
 * comes first, so that a flood from some addresses does not delay the others. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum {
    REVIEWS_MAX = 8, /* in progress */
    REVIEWS_OF_ADDRESS_MAX = 2,
    REVIEWS_OF_NETWORK_MAX = 4, /* /24, or /64 of IPv6: the pods of a node, usually */
    REVIEWS_WAITING_MAX = 64,
};

/* Embedded in a request. */
struct review {
    TAILQ_ENTRY(review) entry;
    uint8_t address[16]; /* an IPv4 one is mapped */
    bool is_in_progress;
};

TAILQ_HEAD(review_queue, review); /* by arrival */

/* The review waits. Returns one that has to go, which is no longer in the queue: there are too many, and its
 * address has the most, perhaps this one. NULL: none has to. */
struct review *review_queue_add(struct review_queue *queue, struct review *review, const char *peer);
/* The next one, which is in progress from now on; NULL: all that wait have to. */
struct review *review_queue_next(struct review_queue *queue);
void review_queue_remove(struct review_queue *queue, struct review *review);
