#include "vipu/placement/ledger.h"

#include <assert.h>

#include "base/core/mem.h"
#include "vipu/placement/placement_candidates.h"

#define CHUNK 64u

/* After a change of what is taken or failed in these domains. */
static void refresh(struct vipu_ledger *ledger, size_t first, size_t count)
{
    uint64_t free[CHUNK];

    for (size_t a = 0; a < ledger->cluster->allocation_count; a++) {
        const uint64_t *usable = ledger->cluster->allocations[a].usable;
        struct vipu_allocation_state *state = &ledger->allocations[a];
        size_t d = first > state->first ? first : state->first;
        size_t end = state->first + state->blocks.domain_count;

        for (size_t n; d < end && d < first + count; d += n) {
            for (n = 0; n < CHUNK && d + n < end && d + n < first + count; n++)
                free[n] = usable[d + n] & ~ledger->taken[d + n] & ~ledger->failed[d + n];
            vipu_blocks_set_run(&state->blocks, d - state->first, n, free);
        }
    }
}

/* From the first to the last domain of which the allocation has a part. */
static void allocation_state_init(struct vipu_allocation_state *state, const uint64_t *usable,
                                  size_t domain_count)
{
    size_t end = domain_count;

    while (end > 0 && !usable[end - 1])
        end--;
    while (state->first < end && !usable[state->first])
        state->first++;
    vipu_blocks_init(&state->blocks, end - state->first);
}

void vipu_ledger_init(struct vipu_ledger *ledger, const struct vipu_cluster *cluster)
{
    size_t domains = cluster->domain_count, allocation_count = cluster->allocation_count;

    *ledger = (struct vipu_ledger){.cluster = cluster};
    ledger->taken = mem_alloc((domains + 1) * sizeof(*ledger->taken));
    ledger->failed = mem_alloc((domains + 1) * sizeof(*ledger->failed));
    ledger->allocations = mem_alloc((allocation_count + 1) * sizeof(*ledger->allocations));
    for (size_t a = 0; a < allocation_count; a++)
        allocation_state_init(&ledger->allocations[a], cluster->allocations[a].usable, domains);
    refresh(ledger, 0, domains);
    for (size_t a = 0; a < allocation_count; a++) {
        struct vipu_allocation_state *state = &ledger->allocations[a];

        state->whole = vipu_blocks_copy(&state->blocks);
        state->total = vipu_blocks_free(&state->whole);
    }
}

void vipu_ledger_release(struct vipu_ledger *ledger)
{
    for (size_t a = 0; ledger->cluster && a < ledger->cluster->allocation_count; a++) {
        vipu_blocks_release(&ledger->allocations[a].blocks);
        vipu_blocks_release(&ledger->allocations[a].whole);
    }
    mem_free(ledger->taken);
    mem_free(ledger->failed);
    mem_free(ledger->allocations);
    *ledger = (struct vipu_ledger){0};
}

/* How many IPUs from the first one on are in its domain, and which; 0 if one is listed twice or does not
 * exist. */
static size_t in_one_domain(const struct vipu_ipu *ipus, size_t count, uint64_t *ret_mask)
{
    size_t n = 0;

    *ret_mask = 0;
    for (; n < count && ipus[n].domain_topology_id == ipus[0].domain_topology_id; n++) {
        uint64_t bit = vipu_ipu_bit(&ipus[n]);

        if (!bit || (*ret_mask & bit))
            return 0;
        *ret_mask |= bit;
    }
    return n;
}

/* The domains from the lowest to the highest one of these IPUs. */
struct span {
    size_t first, end;
};

static void span_add(struct span *span, size_t domain)
{
    span->first = domain < span->first ? domain : span->first;
    span->end = domain >= span->end ? domain + 1 : span->end;
}

static void refresh_span(struct vipu_ledger *ledger, const struct span *span)
{
    if (span->first < span->end)
        refresh(ledger, span->first, span->end - span->first);
}

static void give(struct vipu_ledger *ledger, const struct vipu_ipu *ipus, size_t count, struct span *span)
{
    uint64_t mask;

    for (size_t i = 0, n; i < count; i += n) {
        uint32_t d = ipus[i].domain_topology_id;

        n = in_one_domain(&ipus[i], count - i, &mask);
        assert(n > 0 && d < ledger->cluster->domain_count); /* they were taken */
        ledger->taken[d] &= ~mask;
        span_add(span, d);
    }
}

bool vipu_ledger_reserve(struct vipu_ledger *ledger, const struct vipu_ipu *ipus, size_t count)
{
    const struct vipu_cluster *cluster = ledger->cluster;
    struct span span = {.first = cluster->domain_count};
    uint64_t mask;

    for (size_t i = 0, n; i < count; i += n) {
        uint32_t d = ipus[i].domain_topology_id;

        n = in_one_domain(&ipus[i], count - i, &mask);
        if (n == 0 || d >= cluster->domain_count || (mask & ~vipu_domain_ipus(&cluster->domains[d])) ||
            (mask & ledger->taken[d])) {
            give(ledger, ipus, i, &span);
            return false;
        }
        ledger->taken[d] |= mask;
        span_add(&span, d);
    }
    refresh_span(ledger, &span);
    return true;
}

void vipu_ledger_unreserve(struct vipu_ledger *ledger, const struct vipu_ipu *ipus, size_t count)
{
    struct span span = {.first = ledger->cluster->domain_count};

    give(ledger, ipus, count, &span);
    refresh_span(ledger, &span);
}

void vipu_ledger_set_failed(struct vipu_ledger *ledger, size_t domain, uint64_t ipus)
{
    ledger->failed[domain] = ipus & vipu_domain_ipus(&ledger->cluster->domains[domain]);
    refresh(ledger, domain, 1);
}
