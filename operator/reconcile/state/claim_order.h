/* All jobs that claim IPUs, in the order of the queue. Adding, removing and finding the next one take about
 * the same time however many there are, and a walk goes on from its last key, whatever has changed meanwhile.
 * Zeroed, it is empty. Borrows the jobs. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct job_cache;

/* As claims_decide orders them; no two are equal. */
struct claim_key {
    int32_t priority;
    int64_t turn_s;
    uint64_t arrival;
};

struct claim_block;

struct claim_order {
    struct claim_block **blocks; /* of jobs that follow each other; none is empty */
    size_t block_count, block_cap;
    size_t count; /* of jobs */
};

int claim_key_compare(const struct claim_key *a, const struct claim_key *b); /* < 0: a is before b */

void claim_order_add(struct claim_order *order, const struct claim_key *key, struct job_cache *job);
void claim_order_remove(struct claim_order *order,
                        const struct claim_key *key); /* accepts one that is absent */
struct job_cache *claim_order_get(const struct claim_order *order,
                                  const struct claim_key *key); /* NULL: absent */
/* Behind that key; NULL: the first of all. Returns NULL at the end, else sets ret_key. */
struct job_cache *claim_order_next(const struct claim_order *order, const struct claim_key *after,
                                   struct claim_key *ret_key);
void claim_order_release(struct claim_order *order);
