#include "operator/serve/metrics/review_queue.h"

#include <arpa/inet.h>
#include <string.h>

#define MAPPED "\0\0\0\0\0\0\0\0\0\0\xff\xff"
#define MAPPED_BYTES 12
#define ADDRESS_BYTES 16
#define IPV4_NETWORK_BYTES (MAPPED_BYTES + 3)
#define IPV6_NETWORK_BYTES 8

/* Text that is no address counts as one. */
static void read_address(uint8_t address[ADDRESS_BYTES], const char *peer)
{
    memset(address, 0, ADDRESS_BYTES);
    if (inet_pton(AF_INET6, peer, address) == 1)
        return;
    memcpy(address, MAPPED, MAPPED_BYTES);
    (void)inet_pton(AF_INET, peer, address + MAPPED_BYTES);
}

static size_t network_bytes(const uint8_t address[ADDRESS_BYTES])
{
    return memcmp(address, MAPPED, MAPPED_BYTES) == 0 ? IPV4_NETWORK_BYTES : IPV6_NETWORK_BYTES;
}

static size_t count(const struct review_queue *queue, const struct review *like, size_t bytes,
                    bool is_in_progress)
{
    const struct review *review;
    size_t found = 0;

    TAILQ_FOREACH(review, queue, entry)
    found += review->is_in_progress == is_in_progress && memcmp(review->address, like->address, bytes) == 0;
    return found;
}

/* The newest of the address that has the most. */
static struct review *find_superfluous(const struct review_queue *queue)
{
    struct review *review, *found = NULL;
    size_t most = 0;

    TAILQ_FOREACH(review, queue, entry)
    {
        size_t waiting = review->is_in_progress ? 0 : count(queue, review, ADDRESS_BYTES, false);

        if (waiting > 0 && waiting >= most) {
            most = waiting;
            found = review;
        }
    }
    return found;
}

struct review *review_queue_add(struct review_queue *queue, struct review *review, const char *peer)
{
    struct review *superfluous;

    read_address(review->address, peer);
    review->is_in_progress = false;
    TAILQ_INSERT_TAIL(queue, review, entry);
    if (count(queue, review, 0, false) <= REVIEWS_WAITING_MAX)
        return NULL;
    superfluous = find_superfluous(queue);
    TAILQ_REMOVE(queue, superfluous, entry);
    return superfluous;
}

struct review *review_queue_next(struct review_queue *queue)
{
    struct review *review, *next = NULL;
    size_t fewest = REVIEWS_OF_ADDRESS_MAX;

    TAILQ_FOREACH(review, queue, entry)
    {
        size_t of_address = count(queue, review, ADDRESS_BYTES, true);

        if (!review->is_in_progress && of_address < fewest &&
            count(queue, review, network_bytes(review->address), true) < REVIEWS_OF_NETWORK_MAX) {
            fewest = of_address;
            next = review;
        }
    }
    if (!next || count(queue, next, 0, true) >= REVIEWS_MAX)
        return NULL;
    next->is_in_progress = true;
    return next;
}

void review_queue_remove(struct review_queue *queue, struct review *review)
{
    TAILQ_REMOVE(queue, review, entry);
}
