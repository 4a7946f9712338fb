#include "vipu/placement/allocator.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "vipu/placement/eviction_set.h"
#include "vipu/placement/ledger.h"
#include "vipu/placement/placement_candidates.h"

static struct vipu_ledger *ledger_of(const struct vipu_allocator *a, const struct vipu_cluster *cluster)
{
    return &a->ledgers[cluster - a->clusters->items];
}

static const struct vipu_allocation_state *allocation_state_of(const struct vipu_allocator *a,
                                                               const struct vipu_cluster *cluster,
                                                               const struct vipu_allocation *allocation)
{
    return &ledger_of(a, cluster)->allocations[allocation - cluster->allocations];
}

void vipu_allocator_init(struct vipu_allocator *a, const struct vipu_clusters *clusters)
{
    *a = (struct vipu_allocator){.clusters = clusters};
    a->ledgers = mem_alloc((clusters->count + 1) * sizeof(*a->ledgers));
    for (size_t c = 0; c < clusters->count; c++)
        vipu_ledger_init(&a->ledgers[c], &clusters->items[c]);
}

void vipu_allocator_release(struct vipu_allocator *a)
{
    for (size_t c = 0; a->ledgers && c < a->clusters->count; c++)
        vipu_ledger_release(&a->ledgers[c]);
    mem_free(a->ledgers);
    *a = (struct vipu_allocator){0};
}

void vipu_placement_release(struct vipu_placement *placement)
{
    mem_free(placement->ipus);
    *placement = (struct vipu_placement){0};
}

static struct vipu_ipu *block_ipus(const struct vipu_requirements *r, const struct vipu_place *place)
{
    struct vipu_ipu *ipus = mem_grow(NULL, r->size, sizeof(*ipus));
    uint32_t per_domain = r->size / r->num_ilds, routing = 0;

    for (uint32_t d = 0; d < r->num_ilds; d++)
        for (uint32_t i = 0; i < per_domain; i++, routing++)
            ipus[routing] = (struct vipu_ipu){
                .domain_topology_id = (uint32_t)place->domain + d,
                .domain_routing_id = d,
                .topology_id = place->start + i,
                .routing_id = routing,
            };
    return ipus;
}

bool vipu_allocator_check(const struct vipu_allocator *a, const struct vipu_requirements *r,
                          struct strv *problems)
{
    return vipu_candidates_check(a->clusters, r, problems);
}

/* ---- capacity ---- */

struct vipu_usage vipu_allocator_usage(const struct vipu_allocator *a, const struct vipu_cluster *cluster,
                                       const struct vipu_allocation *allocation)
{
    const struct vipu_ledger *ledger = ledger_of(a, cluster);
    const struct vipu_allocation_state *state = allocation_state_of(a, cluster, allocation);
    struct vipu_usage room = {
        .total = state->total,
        .free = vipu_blocks_free(&state->blocks),
        .largest = vipu_blocks_largest(&state->blocks),
    };

    for (size_t d = 0; d < cluster->domain_count; d++)
        room.taken += (uint32_t)__builtin_popcountll(allocation->usable[d] & ledger->taken[d]);
    room.failed = room.total - room.free - room.taken;
    return room;
}

/* What the candidates of a request have together. */
struct capacity {
    uint32_t total, free;
    uint32_t largest, largest_ever; /* of the partitions that fit now, and without all others */
    bool fits_ever;
};

/* Failures are as frequent as successes on a full machine, so this does not look at each domain. */
static struct capacity capacity_for(const struct vipu_allocator *a, const struct vipu_requirements *r)
{
    struct vipu_candidate candidate;
    struct capacity capacity = {0};
    struct vipu_place place;

    for (size_t pos = 0; vipu_candidate_next(a->clusters, r, &pos, &candidate);) {
        const struct vipu_allocation_state *state =
            allocation_state_of(a, candidate.cluster, candidate.allocation);
        uint32_t now = vipu_blocks_largest(&state->blocks), ever = vipu_blocks_largest(&state->whole);

        capacity.total += state->total;
        capacity.free += vipu_blocks_free(&state->blocks);
        capacity.largest = now > capacity.largest ? now : capacity.largest;
        capacity.largest_ever = ever > capacity.largest_ever ? ever : capacity.largest_ever;
        capacity.fits_ever =
            capacity.fits_ever || vipu_blocks_find(&state->whole, r->size, r->num_ilds, &place);
    }
    return capacity;
}

static bool no_room(const struct vipu_allocator *a, const struct vipu_requirements *r, struct err *err)
{
    struct capacity capacity = capacity_for(a, r);
    AUTO(str) struct str wanted = {0};

    (void)str_add_count(&wanted, r->size, "IPU", NULL);
    (void)str_adds(&wanted, " over ");
    (void)str_add_count(&wanted, r->num_ilds, "IPU-Link domain", NULL);
    if (!capacity.fits_ever && capacity.largest_ever >= r->size)
        return err_set(err, ERR_INVALID,
                       "%s can never fit: they fit over another number of domains, %u IPUs in all",
                       str_text(&wanted), capacity.total);
    if (!capacity.fits_ever)
        return err_set(err, ERR_INVALID, "%s can never fit: %u IPUs in all, largest block %u",
                       str_text(&wanted), capacity.total, capacity.largest_ever);
    if (capacity.largest >= r->size)
        return err_set(err, ERR_BUSY,
                       "not enough free IPUs: %s requested; they fit over another number of domains, %u of "
                       "%u free",
                       str_text(&wanted), capacity.free, capacity.total);
    return err_set(err, ERR_BUSY, "not enough free IPUs: %s requested, %u of %u free, largest block %u",
                   str_text(&wanted), capacity.free, capacity.total, capacity.largest);
}

/* ---- find ---- */

static int by_routing(const void *a, const void *b)
{
    uint32_t ra = ((const struct vipu_ipu *)a)->routing_id, rb = ((const struct vipu_ipu *)b)->routing_id;

    return (ra > rb) - (ra < rb);
}

static bool find_listed(const struct vipu_allocator *a, const struct vipu_requirements *r,
                        struct vipu_placement *ret, struct err *err)
{
    const struct vipu_ledger *ledger;
    struct vipu_candidate candidate;
    size_t pos = 0;

    if (!vipu_candidate_next(a->clusters, r, &pos, &candidate))
        return no_room(a, r, err);
    ledger = ledger_of(a, candidate.cluster);
    for (size_t i = 0; i < r->ipu_count; i++) {
        const struct vipu_ipu *ipu = &r->ipus[i];

        if (ledger->taken[ipu->domain_topology_id] & vipu_ipu_bit(ipu))
            return err_set(err, ERR_BUSY, "IPU %u of IPU-Link domain %u is in use", ipu->topology_id,
                           ipu->domain_topology_id);
    }
    *ret = (struct vipu_placement){candidate.cluster, candidate.allocation,
                                   mem_dup(r->ipus, r->ipu_count * sizeof(*r->ipus))};
    qsort(ret->ipus, r->ipu_count, sizeof(*ret->ipus), by_routing);
    return true;
}

bool vipu_allocator_find(const struct vipu_allocator *a, const struct vipu_requirements *r,
                         struct vipu_placement *ret, struct err *err)
{
    struct vipu_place best = {.parent_block_size = UINT32_MAX}, place;
    struct vipu_candidate candidate, chosen = {0};

    if (r->ipu_count)
        return find_listed(a, r, ret, err);
    for (size_t pos = 0; vipu_candidate_next(a->clusters, r, &pos, &candidate);) {
        const struct vipu_allocation_state *state =
            allocation_state_of(a, candidate.cluster, candidate.allocation);

        if (vipu_blocks_find(&state->blocks, r->size, r->num_ilds, &place) &&
            place.parent_block_size < best.parent_block_size) {
            best = place;
            best.domain += state->first;
            chosen = candidate;
        }
    }
    if (!chosen.cluster)
        return no_room(a, r, err);
    *ret = (struct vipu_placement){chosen.cluster, chosen.allocation, block_ipus(r, &best)};
    return true;
}

/* ---- take and release ---- */

bool vipu_allocator_reserve(struct vipu_allocator *a, const struct vipu_cluster *cluster,
                            const struct vipu_ipu *ipus, size_t count)
{
    return vipu_ledger_reserve(ledger_of(a, cluster), ipus, count);
}

void vipu_allocator_unreserve(struct vipu_allocator *a, const struct vipu_cluster *cluster,
                              const struct vipu_ipu *ipus, size_t count)
{
    vipu_ledger_unreserve(ledger_of(a, cluster), ipus, count);
}

bool vipu_allocator_relocate(struct vipu_allocator *a, const struct vipu_requirements *r,
                             struct vipu_placement *placement, struct err *err)
{
    struct vipu_requirements wanted = *r;
    struct vipu_placement found = *placement;
    bool ok;

    wanted.cluster_id = placement->cluster->id;
    wanted.allocation_id = placement->allocation->id;
    wanted.ipus = NULL;
    wanted.ipu_count = 0;
    vipu_allocator_unreserve(a, placement->cluster, placement->ipus, r->size);
    ok = vipu_allocator_find(a, &wanted, &found, err);
    if (!vipu_allocator_reserve(a, placement->cluster, found.ipus, r->size))
        return err_set(err, ERR_INTERNAL, "internal: the allocated block is in use");
    if (ok) {
        mem_free(placement->ipus);
        *placement = found;
    }
    return ok;
}

void vipu_allocator_set_failed(struct vipu_allocator *a, const struct vipu_cluster *cluster, size_t domain,
                               uint64_t ipus)
{
    vipu_ledger_set_failed(ledger_of(a, cluster), domain, ipus);
}

uint64_t vipu_allocator_failed(const struct vipu_allocator *a, const struct vipu_cluster *cluster,
                               size_t domain)
{
    return ledger_of(a, cluster)->failed[domain];
}

uint64_t vipu_allocator_taken(const struct vipu_allocator *a, const struct vipu_cluster *cluster,
                              size_t domain)
{
    return ledger_of(a, cluster)->taken[domain];
}

/* ---- blockers ---- */

uint32_t vipu_allocator_count(const struct vipu_allocator *a, const struct vipu_requirements *r)
{
    uint32_t count = 0;
    struct vipu_candidate candidate;

    if (r->ipu_count) {
        struct vipu_placement placement = {0};
        struct err err;

        count = vipu_allocator_find(a, r, &placement, &err);
        vipu_placement_release(&placement);
        return count;
    }
    for (size_t pos = 0; vipu_candidate_next(a->clusters, r, &pos, &candidate);)
        count += vipu_blocks_count(&allocation_state_of(a, candidate.cluster, candidate.allocation)->blocks,
                                   r->size, r->num_ilds);
    return count;
}

/* What the partitions of one cluster occupy, and which IPUs of the allocation would be free without them. */
static struct vipu_eviction_set eviction_set_of(const struct vipu_allocator *a,
                                                const struct vipu_requirements *r,
                                                const struct vipu_candidate *candidate,
                                                const struct vipu_holder *holders, size_t count)
{
    const struct vipu_ledger *ledger = ledger_of(a, candidate->cluster);
    struct vipu_eviction_set set;

    vipu_eviction_set_init(&set, candidate->cluster->domain_count, count);
    for (size_t d = 0; d < set.domain_count; d++)
        set.usable[d] = candidate->allocation->usable[d] & ~ledger->taken[d];
    for (size_t h = 0; h < count; h++) {
        for (uint32_t i = 0; holders[h].cluster == candidate->cluster && i < holders[h].size; i++) {
            const struct vipu_ipu *ipu = &holders[h].ipus[i];

            vipu_eviction_set_add(&set, ipu->domain_topology_id, ipu->topology_id, h);
            set.usable[ipu->domain_topology_id] |=
                candidate->allocation->usable[ipu->domain_topology_id] & vipu_ipu_bit(ipu);
        }
    }
    for (size_t d = 0; d < set.domain_count && !r->ipu_count; d++)
        set.usable[d] &= ~ledger->failed[d];
    return set;
}

static size_t blockers_of_listed(const struct vipu_eviction_set *set, const struct vipu_requirements *r,
                                 size_t *blocker)
{
    AUTO(mem) bool *is_hit = mem_alloc((set->count + 1) * sizeof(*is_hit));
    size_t found = 0;

    for (size_t i = 0; i < r->ipu_count; i++) {
        uint32_t d = r->ipus[i].domain_topology_id;
        uint32_t owner = set->owner[d * VIPU_ILD_IPUS + r->ipus[i].topology_id];

        if (!(set->usable[d] & vipu_ipu_bit(&r->ipus[i])))
            return 0;
        if (owner)
            is_hit[owner - 1] = true;
    }
    for (size_t h = 0; h < set->count; h++)
        if (is_hit[h])
            blocker[found++] = h;
    return found;
}

size_t vipu_allocator_blockers(const struct vipu_allocator *a, const struct vipu_requirements *r,
                               const struct vipu_holder *holders, size_t count, size_t *blocker)
{
    AUTO(mem) size_t *scratch = mem_alloc((count + 1) * sizeof(*scratch));
    uint64_t best = UINT64_MAX, cost;
    struct vipu_candidate candidate;
    size_t found, best_found = 0;

    for (size_t pos = 0; vipu_candidate_next(a->clusters, r, &pos, &candidate);) {
        AUTO(vipu_eviction_set)
        struct vipu_eviction_set set = eviction_set_of(a, r, &candidate, holders, count);

        if (r->ipu_count)
            return blockers_of_listed(&set, r, blocker);
        if (vipu_eviction_set_cheapest(&set, r->size, r->num_ilds, scratch, &found, &cost) && cost < best) {
            best = cost;
            best_found = found;
            memcpy(blocker, scratch, found * sizeof(*blocker));
        }
    }
    return best_found;
}
