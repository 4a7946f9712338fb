#include "operator/forecast/projection/picker.h"

#include <string.h>

#include "base/core/mem.h"
#include "operator/forecast/queue/claim.h"
#include "operator/forecast/place/layout.h"

#define NO_TICKET UINT64_MAX
#define TURN_BITS 24
#define CLAIM_BITS 24 /* FORECAST_CLAIMS_MAX */

/* Where claims come again that have started an instance: behind all that wait now. */
#define AGAIN (1u << (TURN_BITS - 1))

size_t picker_lay_out(struct picker *p, const struct moment *b, uint32_t claims_max, void *memory)
{
    size_t used = 0, all = b->input->claim_count, count = claims_max < all ? claims_max : all;

    p->claims = lay(memory, &used, count, sizeof(*p->claims));
    p->bounds = lay(memory, &used, count, sizeof(*p->bounds));
    p->places = lay(memory, &used, all, sizeof(*p->places));
    p->groups = lay(memory, &used, b->queue->group_count, sizeof(*p->groups));
    p->group_numbers = lay(memory, &used, b->queue->group_count, sizeof(*p->group_numbers));
    p->fresh = lay(memory, &used, 2 * count, sizeof(*p->fresh));
    p->trees = lay(memory, &used, 2 * count, sizeof(*p->trees));
    p->parked = lay(memory, &used, count, sizeof(*p->parked));
    return used;
}

/* ---- building ---- */

static uint64_t ticket_of(const struct queue_order *queue, uint32_t turn, uint32_t claim)
{
    /* A later instance of a claim has not waited for long. */
    uint16_t class = turn < AGAIN ? queue->classes[claim] : queue->classes[claim] | 1;

    return (uint64_t) class << (TURN_BITS + CLAIM_BITS) | (uint64_t)turn << CLAIM_BITS | claim;
}

static uint32_t bound_of(const struct moment *b, uint32_t claim)
{
    const struct group *g = &b->queue->groups[b->queue->group_of[claim]];
    int64_t bound = claim_bound(&b->input->claims[claim], g->is_predicted);

    return bound < UINT32_MAX ? (uint32_t)bound : UINT32_MAX;
}

/* A waiting claim, by group and bound. */
struct entry {
    uint64_t key;
    uint32_t turn, claim;
};

/* One pass of a radix sort: stable, by one byte of the keys. False: they all have the same one. */
static bool sort_by_byte(const struct entry *from, struct entry *to, uint32_t count, unsigned shift)
{
    uint32_t begins[257] = {0};

    for (uint32_t i = 0; i < count; i++)
        begins[(from[i].key >> shift & 0xff) + 1]++;
    if (begins[(from[0].key >> shift & 0xff) + 1] == count)
        return false;
    for (uint32_t byte = 0; byte < 256; byte++)
        begins[byte + 1] += begins[byte];
    for (uint32_t i = 0; i < count; i++)
        to[begins[from[i].key >> shift & 0xff]++] = from[i];
    return true;
}

static bool waits(const struct moment *b, uint32_t claim)
{
    return b->left[claim] > 0 && b->queue->groups[b->queue->group_of[claim]].controllers;
}

static uint32_t collect(const struct moment *b, uint32_t claims_max, struct entry *entries)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < b->queue->count && count < claims_max; i++) {
        uint32_t claim = b->queue->order[i];

        if (!waits(b, claim))
            continue;
        entries[count] =
            (struct entry){(uint64_t)b->queue->group_of[claim] << 32 | bound_of(b, claim), count, claim};
        count++;
    }
    return count;
}

static void set_groups(struct picker *p, const struct moment *b, const struct entry *entries)
{
    p->group_count = 0;
    for (uint32_t first = 0, end; first < p->count; first = end) {
        uint32_t group = (uint32_t)(entries[first].key >> 32), count;
        uint64_t *tree = &p->fresh[2 * (size_t)first];

        for (end = first; end < p->count && entries[end].key >> 32 == group; end++)
            ;
        count = end - first;
        p->group_numbers[group] = p->group_count;
        p->groups[p->group_count++] = (struct picker_group){group, first, count};
        for (uint32_t i = 0; i < count; i++) {
            const struct entry *e = &entries[first + i];

            p->claims[first + i] = e->claim;
            p->places[e->claim] = first + i;
            p->bounds[first + i] = (uint32_t)e->key;
            tree[count + i] = ticket_of(b->queue, e->turn, e->claim);
        }
        for (uint32_t i = count - 1; i > 0; i--)
            tree[i] = tree[2 * i] < tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
    }
}

void picker_init(struct picker *p, const struct moment *b, uint32_t claims_max)
{
    size_t all = b->input->claim_count;
    AUTO(mem) struct entry *entries = mem_alloc(2 * all * sizeof(*entries));
    struct entry *from = entries, *to = &entries[all];

    memset(p->places, 0xff, all * sizeof(*p->places));
    p->count = collect(b, claims_max, entries);
    for (unsigned shift = 0; shift < 64 && p->count > 1; shift += 8)
        if (sort_by_byte(from, to, p->count, shift)) {
            struct entry *sorted = to;

            to = from;
            from = sorted;
        }
    set_groups(p, b, from);
}

void picker_restart(struct picker *p)
{
    memcpy(p->trees, p->fresh, 2 * (size_t)p->count * sizeof(*p->trees));
    p->parked_count = 0;
    p->last_turn = AGAIN;
}

/* ---- serving ---- */

/* The first in turn of the `count` claims with the least bounds. */
static uint64_t first_in_turn(const uint64_t *tree, uint32_t all, uint32_t count)
{
    uint64_t first = NO_TICKET;

    if (count == all)
        return tree[1];
    for (uint32_t from = all, end = all + count; from < end; from /= 2, end /= 2) {
        if (from & 1) {
            first = tree[from] < first ? tree[from] : first;
            from++;
        }
        if (end & 1) {
            end--;
            first = tree[end] < first ? tree[end] : first;
        }
    }
    return first;
}

static uint32_t count_up_to(const uint32_t *bounds, uint32_t count, uint32_t bound)
{
    uint32_t from = 0;

    while (from < count) {
        uint32_t middle = from + (count - from) / 2;

        if (bounds[middle] <= bound)
            from = middle + 1;
        else
            count = middle;
    }
    return from;
}

static uint64_t pick_of_group(const struct picker *p, struct moment *b, const struct picker_group *pg)
{
    const struct group *g = &b->queue->groups[pg->group];
    const uint64_t *tree = &p->trees[2 * (size_t)pg->first];
    uint32_t limit, count = pg->count;

    if (tree[1] == NO_TICKET || moment_is_over_quota(b, g))
        return NO_TICKET;
    if (!moment_asks_everybody(b, g)) {
        limit = moment_limit(b, g);
        if (limit < KEY_NO_BOUND)
            count = limit > b->now ? count_up_to(&p->bounds[pg->first], count, limit - b->now) : 0;
    }
    return first_in_turn(tree, pg->count, count);
}

static void set_ticket(struct picker *p, const struct moment *b, uint32_t claim, uint64_t ticket)
{
    const struct picker_group *pg = &p->groups[p->group_numbers[b->queue->group_of[claim]]];
    uint64_t *tree = &p->trees[2 * (size_t)pg->first];
    uint32_t at = pg->count + p->places[claim] - pg->first;

    tree[at] = ticket;
    for (at /= 2; at > 0; at /= 2)
        tree[at] = tree[2 * at] < tree[2 * at + 1] ? tree[2 * at] : tree[2 * at + 1];
}

static uint32_t claim_of(uint64_t ticket)
{
    return (uint32_t)ticket & ((1u << CLAIM_BITS) - 1);
}

void picker_serve(struct picker *p, struct moment *b)
{
    while (p->parked_count > 0) {
        uint64_t ticket = p->parked[--p->parked_count];

        set_ticket(p, b, claim_of(ticket), ticket);
    }
    for (;;) {
        uint64_t first = NO_TICKET;
        uint32_t claim;

        for (uint32_t i = 0; i < p->group_count; i++) {
            uint64_t ticket = pick_of_group(p, b, &p->groups[i]);

            first = ticket < first ? ticket : first;
        }
        if (first == NO_TICKET)
            return;
        claim = claim_of(first);
        if (!moment_serve(b, claim)) {
            p->parked[p->parked_count++] = first;
            set_ticket(p, b, claim, NO_TICKET);
        } else {
            set_ticket(p, b, claim, b->left[claim] ? ticket_of(b->queue, ++p->last_turn, claim) : NO_TICKET);
        }
    }
}
