#include "vipu/placement/eviction_set.h"

#include "base/core/mem.h"
#include "vipu/placement/blocks.h"
#include "vipu/model/partition.h"
#include "vipu/model/shape.h"

void vipu_eviction_set_init(struct vipu_eviction_set *set, size_t domain_count, size_t count)
{
    *set = (struct vipu_eviction_set){.domain_count = domain_count, .count = count};
    set->usable = mem_alloc((domain_count + 1) * sizeof(*set->usable));
    set->owner = mem_alloc((domain_count + 1) * VIPU_ILD_IPUS * sizeof(*set->owner));
    set->sizes = mem_alloc((count + 1) * sizeof(*set->sizes));
}

void vipu_eviction_set_release(struct vipu_eviction_set *set)
{
    mem_free(set->usable);
    mem_free(set->owner);
    mem_free(set->sizes);
    *set = (struct vipu_eviction_set){0};
}

void vipu_eviction_set_add(struct vipu_eviction_set *set, size_t domain, uint32_t ipu, size_t number)
{
    set->owner[domain * VIPU_ILD_IPUS + ipu] = (uint32_t)number + 1;
    set->sizes[number]++;
}

/* The same block in consecutive domains. */
struct window {
    size_t domain;
    uint32_t start, length;
    uint32_t domains;
};

static bool is_usable(const struct vipu_eviction_set *o, const struct window *w)
{
    uint64_t block = vipu_block_mask(w->start, w->length);

    for (size_t d = w->domain; d < w->domain + w->domains; d++)
        if ((o->usable[d] & block) != block)
            return false;
    return true;
}

/* The IPUs of all partitions that overlap the window. Those have `turn` in `seen`, a number that no earlier
 * window had; any result above `limit` means too many. */
static uint64_t cost_of(const struct vipu_eviction_set *o, const struct window *w, uint64_t limit,
                        uint64_t *seen, uint64_t turn)
{
    uint64_t cost = 0;

    for (size_t d = w->domain; d < w->domain + w->domains && cost <= limit; d++) {
        const uint32_t *row = &o->owner[d * VIPU_ILD_IPUS];

        for (uint32_t i = w->start; i < w->start + w->length; i++) {
            if (row[i] && seen[row[i] - 1] != turn) {
                seen[row[i] - 1] = turn;
                cost += o->sizes[row[i] - 1];
            }
        }
    }
    return cost;
}

bool vipu_eviction_set_cheapest(const struct vipu_eviction_set *set, uint32_t size, uint32_t num_ilds,
                                size_t *blocker, size_t *ret_count, uint64_t *ret_cost)
{
    AUTO(mem) uint64_t *seen = mem_alloc((set->count + 1) * sizeof(*seen));
    struct window w = {.domains = num_ilds}, best = {0};
    uint64_t best_cost = UINT64_MAX, turn = 0;

    if (!vipu_is_power_of_two(size) || !vipu_is_power_of_two(num_ilds) || num_ilds > size ||
        size / num_ilds > VIPU_ILD_IPUS)
        return false;
    w.length = size / num_ilds;
    for (; w.domain + w.domains <= set->domain_count; w.domain++) {
        for (w.start = 0; w.start < VIPU_ILD_IPUS; w.start += w.length) {
            uint64_t cost = is_usable(set, &w) ? cost_of(set, &w, best_cost, seen, ++turn) : UINT64_MAX;

            if (cost < best_cost) {
                best_cost = cost;
                best = w;
            }
        }
    }
    if (best_cost == UINT64_MAX)
        return false;
    cost_of(set, &best, best_cost, seen, ++turn);
    *ret_count = 0;
    for (size_t p = 0; p < set->count; p++)
        if (seen[p] == turn)
            blocker[(*ret_count)++] = p;
    *ret_cost = best_cost;
    return true;
}
