/* The IPUs of all controllers at one moment: which are free, which are kept for a claim, and when the others
 * become free. A domain has 127 aligned blocks, numbered as a heap: block 1 has 64 IPUs, blocks 2b and 2b + 1
 * are the halves of b. Keeps indexes of them consistent; decides nothing. */
#pragma once

#include "operator/forecast/forecast.h"

#define DOMAIN_IPUS 64u
#define DOMAIN_ORDERS 7u      /* of blocks: 1, 2, 4 ... 64 IPUs */
#define DOMAIN_BLOCKS 128u    /* with number 0, which is none */
#define DOMAINS_WORDS_MAX 16u /* of a set of FORECAST_DOMAINS_MAX domains */

/* When IPUs become free, so that less is earlier: seconds from the plan's now if there is a bound, else a
 * number that grows with the age of the occupant, because who has run long will run long. */
#define KEY_FREE 0u
#define KEY_NO_BOUND (1u << 31)
#define KEY_GONE UINT32_MAX /* failed, or does not exist */

/* A block that is kept for a claim, as others see it. */
struct fence {
    struct forecast_block block;
    uint32_t limit; /* who ends by then may start in it; KEY_GONE: everybody; 0: nobody */
    uint32_t until; /* key of the end of the claim that it is kept for */
};

/* The IPUs of one controller. */
struct room {
    bool is_placed;
    uint32_t first, domain_count, words; /* its domains among all; 64-bit words of a set of them */
    uint32_t ipus_per_domain, top;       /* the latter is the order of a whole domain */
    uint32_t free_ipus, whole_free;      /* the latter counts domains */
    int64_t
        counted; /* without places: IPUs that exist and are not in use; less than 0 if the list is wrong */
    uint32_t fence_count;
    struct fence fences[FORECAST_DEPTH_MAX];
};

struct occupancy {
    struct room *rooms;
    uint32_t room_count, domain_count;
    /* Per domain. */
    uint64_t *usable, *free, *fenced;
    uint32_t *keys;   /* DOMAIN_BLOCKS each: the greatest key of the block's IPUs */
    uint32_t *lowest; /* DOMAIN_ORDERS each: the least key of its blocks of that order */
    uint32_t *least;  /* per room and order: not more than the least of all domains */
    uint32_t *slots;  /* DOMAIN_IPUS each: number of the occupant */
    /* Per room and order: the domains with a free block of that order outside fences that is not part of a
     * larger free one. DOMAINS_WORDS_MAX words each. */
    uint64_t *lone;
};

/* Lays the arrays out from `memory` and returns how many bytes they take; NULL: only that. */
size_t occupancy_lay_out(struct occupancy *o, const struct forecast_input *input, void *memory);
/* Everything that exists is free. Nothing is indexed: occupy what is in use, then index everything. */
void occupancy_init(struct occupancy *o, const struct forecast_input *input);
/* IPUs that do not exist are left out. IPUs that are in use already are lost: their occupants contradict each
 * other, so nobody knows when they become free. */
void occupancy_occupy(struct occupancy *o, uint32_t room, const struct forecast_block *block, uint32_t key,
                      uint32_t slot);
void occupancy_index(struct occupancy *o);
/* More or fewer IPUs are in use in a room without places. */
void occupancy_count(struct occupancy *o, uint32_t room, int64_t ipus);

/* The same with indexes, for blocks that are free or in use as a whole. */
void occupancy_take(struct occupancy *o, uint32_t room, const struct forecast_block *block, uint32_t key,
                    uint32_t slot);
void occupancy_release(struct occupancy *o, uint32_t room, const struct forecast_block *block);
void occupancy_set_key(struct occupancy *o, uint32_t room, const struct forecast_block *block, uint32_t key);

/* Whether some block of that order has a key of at most `latest`. */
bool occupancy_may_have(struct occupancy *o, uint32_t room, unsigned order, uint32_t latest);

void occupancy_fence(struct occupancy *o, uint32_t room, const struct fence *fence);
void occupancy_clear_fences(struct occupancy *o, uint32_t room);

/* The blocks of that order whose IPUs are all in the set, by their first IPU; and those of them that are not
 * part of a larger one. */
uint64_t blocks_within(uint64_t ipus, unsigned order);
uint64_t lone_blocks_within(uint64_t ipus, unsigned order);
uint64_t block_ipus(unsigned start, uint32_t size);
/* Enters domain `local` into the sets of a room (see occupancy.lone) by these IPUs. */
void lone_mark(uint64_t *sets, uint32_t local, unsigned top, uint64_t ipus);
static inline uint64_t *lone_set(const struct occupancy *o, uint32_t room, unsigned order)
{
    return &o->lone[(room * DOMAIN_ORDERS + order) * DOMAINS_WORDS_MAX];
}
