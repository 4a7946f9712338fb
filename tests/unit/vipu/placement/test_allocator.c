/* The allocator beside a model that looks at every IPU, on small clusters with allocations, failures and
 * cables of all kinds. */
#include "lib/check.h"

#include <string.h>

#include "base/core/mem.h"
#include "unit/vipu/placement/random.h"
#include "vipu/placement/allocator.h"
#include "vipu/placement/blocks.h"

#define CLUSTERS 2u
#define ALLOCATIONS 3u
#define DOMAINS 4u
#define MACHINES 4u
#define HOLDERS 10u

struct partition {
    struct vipu_requirements r;
    struct vipu_placement at; /* ipus NULL: there is none */
};

struct world {
    struct vipu_clusters clusters;
    struct vipu_allocator a;
    struct partition held[HOLDERS];
    uint64_t failed[CLUSTERS][DOMAINS];
    uint64_t seed;
};

static bool chance(struct world *w, unsigned one_in)
{
    return next_random(&w->seed) % one_in == 0;
}

static uint32_t below(struct world *w, uint32_t n)
{
    return (uint32_t)(next_random(&w->seed) % n);
}

static void add_allocation(struct world *w, struct vipu_cluster *cluster, char *id)
{
    struct vipu_allocation *allocation = &cluster->allocations[cluster->allocation_count];

    *allocation = (struct vipu_allocation){id, mem_alloc(DOMAINS * sizeof(uint64_t))};
    for (size_t d = 0; d < cluster->domain_count; d++)
        for (uint32_t m = 0; m < cluster->domains[d].machine_count; m++)
            if (cluster->allocation_count == 0 || !chance(w, 3))
                allocation->usable[d] |= (uint64_t)0xf << (4 * m);
    cluster->allocation_count++;
}

static void set_up(struct world *w, uint64_t seed)
{
    *w = (struct world){.seed = seed};
    w->clusters = (struct vipu_clusters){mem_alloc(CLUSTERS * sizeof(struct vipu_cluster)), CLUSTERS};
    for (unsigned c = 0; c < CLUSTERS; c++) {
        struct vipu_cluster *cluster = &w->clusters.items[c];

        *cluster =
            (struct vipu_cluster){.id = mem_printf("c%u", c),
                                  .torus = chance(w, 2),
                                  .looped = chance(w, 2),
                                  .domains = mem_alloc(DOMAINS * sizeof(*cluster->domains)),
                                  .domain_count = 1 + below(w, DOMAINS),
                                  .allocations = mem_alloc(ALLOCATIONS * sizeof(struct vipu_allocation))};
        cluster->switched = !cluster->looped && chance(w, 2);
        for (size_t d = 0; d < cluster->domain_count; d++)
            cluster->domains[d].machine_count = chance(w, 4) ? 1 + below(w, MACHINES) : MACHINES;
        add_allocation(w, cluster, mem_strdup(cluster->id));
        for (unsigned i = 1; i < ALLOCATIONS; i++)
            add_allocation(w, cluster, mem_printf("c%u-%u", c, i));
    }
    vipu_allocator_init(&w->a, &w->clusters);
}

static void world_release(struct world *w)
{
    for (size_t h = 0; h < HOLDERS; h++)
        vipu_placement_release(&w->held[h].at);
    vipu_allocator_release(&w->a);
    vipu_clusters_release(&w->clusters);
}

DEFINE_AUTO(world);

/* ---- what the model knows ---- */

static uint64_t bit(const struct vipu_ipu *ipu)
{
    return (uint64_t)1 << ipu->topology_id;
}

/* The IPUs in partitions, but for those that `without` (bits by holder) takes away. */
static uint64_t taken_in(const struct world *w, size_t c, size_t domain, uint32_t without)
{
    uint64_t taken = 0;

    for (size_t h = 0; h < HOLDERS; h++) {
        const struct partition *p = &w->held[h];

        if (!p->at.ipus || p->at.cluster != &w->clusters.items[c] || (without >> h & 1))
            continue;
        for (uint32_t i = 0; i < p->r.size; i++) {
            if (p->at.ipus[i].domain_topology_id != domain)
                continue;
            CHECK(!(taken & bit(&p->at.ipus[i]))); /* no IPU twice */
            taken |= bit(&p->at.ipus[i]);
        }
    }
    return taken;
}

static bool is_named(const char *name, const char *id)
{
    return !name || strcmp(name, id) == 0;
}

static bool may_go_to(const struct world *w, const struct vipu_requirements *r, size_t c, size_t allocation)
{
    const struct vipu_cluster *cluster = &w->clusters.items[c];

    if (r->routing == VIPU_ROUTING_RINGSWNC && !cluster->torus)
        return false;
    if ((r->gateway_routing == VIPU_GATEWAY_RING && !cluster->looped) ||
        (r->gateway_routing == VIPU_GATEWAY_SWRING && !cluster->switched))
        return false;
    if (!is_named(r->cluster_id, cluster->id))
        return false;
    return r->allocation_id ? is_named(r->allocation_id, cluster->allocations[allocation].id)
                            : allocation == 0;
}

/* What one allocation offers. */
struct row {
    uint64_t free[DOMAINS];
    size_t count;
};

static struct row row_of(const struct world *w, size_t c, size_t allocation, uint32_t without)
{
    const struct vipu_cluster *cluster = &w->clusters.items[c];
    struct row row = {.count = cluster->domain_count};

    for (size_t d = 0; d < row.count; d++)
        row.free[d] =
            cluster->allocations[allocation].usable[d] & ~taken_in(w, c, d, without) & ~w->failed[c][d];
    return row;
}

static bool fits_at(const struct row *row, size_t first, uint32_t ilds, uint64_t block)
{
    for (size_t d = first; d < first + ilds; d++)
        if (d >= row->count || (row->free[d] & block) != block)
            return false;
    return true;
}

/* How many fit side by side, and the size of the smallest free block one would be cut from: over several
 * domains one that does not split a run. */
static uint32_t plain_count(const struct row *row, const struct vipu_requirements *r, uint32_t *smallest)
{
    uint32_t size = r->size / r->num_ilds, count = 0;

    for (uint32_t start = 0; size <= VIPU_ILD_IPUS && start < VIPU_ILD_IPUS; start += size) {
        uint64_t block = vipu_block_mask(start, size);

        for (size_t first = 0; first < row->count;) {
            bool splits = r->num_ilds > 1 && first > 0 && fits_at(row, first - 1, 1, block);
            bool fits = fits_at(row, first, r->num_ilds, block);
            uint32_t broken = size;

            while (fits && broken < VIPU_ILD_IPUS &&
                   fits_at(row, first, r->num_ilds,
                           vipu_block_mask(start / (2 * broken) * (2 * broken), 2 * broken)))
                broken *= 2;
            if (fits && !splits && broken < *smallest)
                *smallest = broken;
            count += fits;
            first += fits ? r->num_ilds : 1;
        }
    }
    return count;
}

static uint32_t model_count(const struct world *w, const struct vipu_requirements *r, uint32_t without,
                            uint32_t *smallest)
{
    uint32_t count = 0;

    *smallest = UINT32_MAX;
    for (size_t c = 0; c < CLUSTERS; c++) {
        for (size_t i = 0; i < ALLOCATIONS; i++) {
            struct row row = row_of(w, c, i, without);

            if (may_go_to(w, r, c, i))
                count += plain_count(&row, r, smallest);
        }
    }
    return count;
}

/* ---- checks ---- */

static void check_books(const struct world *w)
{
    for (size_t c = 0; c < CLUSTERS; c++) {
        const struct vipu_cluster *cluster = &w->clusters.items[c];

        for (size_t d = 0; d < cluster->domain_count; d++) {
            CHECK(vipu_allocator_taken(&w->a, cluster, d) == taken_in(w, c, d, 0));
            CHECK(vipu_allocator_failed(&w->a, cluster, d) == w->failed[c][d]);
        }
        for (size_t i = 0; i < ALLOCATIONS; i++) {
            struct vipu_usage room = vipu_allocator_usage(&w->a, cluster, &cluster->allocations[i]);
            struct row row = row_of(w, c, i, 0);
            uint32_t free = 0, taken = 0, total = 0, smallest = UINT32_MAX;

            for (size_t d = 0; d < row.count; d++) {
                uint64_t usable = cluster->allocations[i].usable[d];

                total += (uint32_t)__builtin_popcountll(usable);
                free += (uint32_t)__builtin_popcountll(row.free[d]);
                taken += (uint32_t)__builtin_popcountll(usable & taken_in(w, c, d, 0));
            }
            CHECK_INT_EQ(room.total, total);
            CHECK_INT_EQ(room.free, free);
            CHECK_INT_EQ(room.taken, taken);
            CHECK_INT_EQ(room.failed, total - free - taken);
            for (uint32_t ilds = 1; ilds <= DOMAINS; ilds *= 2)
                for (uint32_t size = ilds; size <= 16 * ilds; size *= 2)
                    if (size > room.largest)
                        CHECK_INT_EQ(plain_count(&row,
                                                 &(struct vipu_requirements){.size = size, .num_ilds = ilds},
                                                 &smallest),
                                     0);
        }
    }
}

/* A block of the right size at the same place of consecutive domains, all of it free in the allocation. */
static void check_placement(const struct world *w, const struct vipu_requirements *r,
                            const struct vipu_placement *at, uint32_t smallest)
{
    size_t c = (size_t)(at->cluster - w->clusters.items),
           i = (size_t)(at->allocation - at->cluster->allocations);
    uint32_t size = r->size / r->num_ilds, broken = UINT32_MAX;
    struct row row = row_of(w, c, i, 0), place = {.count = row.count};

    CHECK(may_go_to(w, r, c, i));
    CHECK_INT_EQ(at->ipus[0].topology_id % size, 0);
    for (uint32_t k = 0; k < r->size; k++) {
        const struct vipu_ipu *ipu = &at->ipus[k];

        CHECK_INT_EQ(ipu->routing_id, k);
        CHECK_INT_EQ(ipu->domain_routing_id, k / size);
        CHECK_INT_EQ(ipu->domain_topology_id, at->ipus[0].domain_topology_id + k / size);
        CHECK_INT_EQ(ipu->topology_id, at->ipus[0].topology_id + k % size);
        CHECK(row.free[ipu->domain_topology_id] & bit(ipu));
    }
    /* The smallest free block that any place is cut from: here it is, with nothing else left in the row. */
    for (uint32_t block = size; block <= VIPU_ILD_IPUS; block *= 2) {
        uint64_t mask = vipu_block_mask(at->ipus[0].topology_id / block * block, block);

        if (!fits_at(&row, at->ipus[0].domain_topology_id, r->num_ilds, mask))
            break;
        for (uint32_t d = 0; d < r->num_ilds; d++)
            place.free[at->ipus[0].domain_topology_id + d] = mask;
    }
    CHECK_INT_EQ(plain_count(&place, r, &broken) > 0, true);
    CHECK_INT_EQ(broken, smallest);
}

/* No cheaper set of partitions makes room: each set is tried. */
static void check_blockers(const struct world *w, const struct vipu_requirements *r)
{
    struct vipu_holder holders[HOLDERS];
    size_t index[HOLDERS], blocker[HOLDERS], count = 0, found;
    uint32_t cheapest = UINT32_MAX, set = 0, cost = 0, smallest;

    for (size_t h = 0; h < HOLDERS; h++) {
        if (!w->held[h].at.ipus)
            continue;
        index[count] = h;
        holders[count++] = (struct vipu_holder){w->held[h].at.cluster, w->held[h].at.ipus, w->held[h].r.size};
    }
    for (uint32_t without = 0; without < 1u << HOLDERS; without++) {
        uint32_t price = 0;

        for (size_t h = 0; h < HOLDERS; h++)
            price += without >> h & 1 ? w->held[h].at.ipus ? w->held[h].r.size : UINT16_MAX : 0;
        if (price < UINT16_MAX && price < cheapest && model_count(w, r, without, &smallest) > 0)
            cheapest = price;
    }
    found = vipu_allocator_blockers(&w->a, r, holders, count, blocker);
    for (size_t b = 0; b < found; b++) {
        CHECK(b == 0 || blocker[b] > blocker[b - 1]);
        set |= 1u << index[blocker[b]];
        cost += holders[blocker[b]].size;
    }
    CHECK_INT_EQ(cost, cheapest == UINT32_MAX ? 0 : cheapest);
    if (cheapest != UINT32_MAX)
        CHECK(model_count(w, r, set, &smallest) > 0);
}

/* ---- what happens ---- */

static struct vipu_requirements some_requirements(struct world *w)
{
    uint32_t ilds = chance(w, 3) ? 1u << below(w, 3) : 1;
    struct vipu_requirements r = {.num_ilds = ilds, .size = ilds << below(w, 6)};
    struct vipu_cluster *cluster = &w->clusters.items[below(w, CLUSTERS)];

    if (chance(w, 3))
        r.cluster_id = cluster->id;
    if (chance(w, 2))
        r.allocation_id = cluster->allocations[below(w, ALLOCATIONS)].id;
    if (chance(w, 5))
        r.routing = VIPU_ROUTING_RINGSWNC;
    if (ilds > 1 && chance(w, 3))
        r.gateway_routing = chance(w, 2) ? VIPU_GATEWAY_RING : VIPU_GATEWAY_SWRING;
    return r;
}

static bool is_possible(const struct world *w, const struct vipu_requirements *r)
{
    for (size_t c = 0; c < CLUSTERS; c++)
        for (size_t i = 0; i < ALLOCATIONS; i++)
            if (may_go_to(w, r, c, i))
                return true;
    return false;
}

/* Whether it would fit if nothing were taken or failed. */
static bool fits_ever(const struct world *w, const struct vipu_requirements *r)
{
    struct vipu_allocator empty;
    bool fits;

    vipu_allocator_init(&empty, &w->clusters);
    fits = vipu_allocator_count(&empty, r) > 0;
    vipu_allocator_release(&empty);
    return fits;
}

static void check_question(struct world *w, const struct vipu_requirements *r)
{
    struct strv problems = {0};
    struct vipu_placement at = {0};
    struct err err;
    uint32_t smallest, count = model_count(w, r, 0, &smallest);

    CHECK_INT_EQ(vipu_allocator_check(&w->a, r, &problems), is_possible(w, r));
    CHECK_INT_EQ(problems.count == 0, is_possible(w, r));
    CHECK_INT_EQ(vipu_allocator_count(&w->a, r), count);
    if (count > 0)
        CHECK_OK(vipu_allocator_find(&w->a, r, &at, &err), err);
    else
        CHECK_ERR(vipu_allocator_find(&w->a, r, &at, &err), err, fits_ever(w, r) ? ERR_BUSY : ERR_INVALID);
    if (count > 0)
        check_placement(w, r, &at, smallest);
    vipu_placement_release(&at);
    strv_release(&problems);
}

static void create(struct world *w, struct partition *p)
{
    struct err err;

    p->r = some_requirements(w);
    check_question(w, &p->r);
    if (!vipu_allocator_find(&w->a, &p->r, &p->at, &err))
        return;
    CHECK(vipu_allocator_reserve(&w->a, p->at.cluster, p->at.ipus, p->r.size));
    CHECK(!vipu_allocator_reserve(&w->a, p->at.cluster, p->at.ipus, p->r.size));
}

static void remove_it(struct world *w, struct partition *p)
{
    vipu_allocator_unreserve(&w->a, p->at.cluster, p->at.ipus, p->r.size);
    vipu_placement_release(&p->at);
}

static void relocate(struct world *w, struct partition *p)
{
    struct vipu_ipu *before = mem_dup(p->at.ipus, p->r.size * sizeof(*before));
    struct vipu_requirements r = p->r;
    uint32_t smallest, mine = 1u << (p - w->held);
    bool fits;
    struct err err;

    r.cluster_id = p->at.cluster->id;
    r.allocation_id = p->at.allocation->id;
    fits = model_count(w, &r, mine, &smallest) > 0;
    CHECK_INT_EQ(vipu_allocator_relocate(&w->a, &p->r, &p->at, &err), fits);
    if (!fits) {
        CHECK_INT_EQ(err.kind, ERR_BUSY);
        CHECK(memcmp(before, p->at.ipus, p->r.size * sizeof(*before)) == 0);
    }
    for (uint32_t i = 0; fits && i < p->r.size; i++)
        CHECK(!(w->failed[p->at.cluster - w->clusters.items][p->at.ipus[i].domain_topology_id] &
                bit(&p->at.ipus[i])));
    mem_free(before);
}

static void fail_some(struct world *w)
{
    size_t c = below(w, CLUSTERS), d = below(w, (uint32_t)w->clusters.items[c].domain_count);
    uint64_t mask = chance(w, 2) ? next_random(&w->seed) & next_random(&w->seed) & next_random(&w->seed) : 0;

    w->failed[c][d] = mask & vipu_domain_ipus(&w->clusters.items[c].domains[d]);
    vipu_allocator_set_failed(&w->a, &w->clusters.items[c], d, mask);
}

static void step(struct world *w)
{
    struct partition *p = &w->held[below(w, HOLDERS)];

    if (chance(w, 8))
        fail_some(w);
    else if (!p->at.ipus)
        create(w, p);
    else if (chance(w, 4))
        relocate(w, p);
    else
        remove_it(w, p);
    check_books(w);
}

TEST(random_lives_beside_a_model)
{
    for (size_t seed = 0; check_row("seed", seed, 150); seed++) {
        AUTO(world) struct world w = {0};

        set_up(&w, seed);
        for (int round = 0; round < 60; round++)
            step(&w);
    }
}

TEST(a_count_is_how_often_it_can_be_taken)
{
    for (size_t seed = 0; check_row("seed", seed, 100); seed++) {
        struct vipu_requirements r;
        struct vipu_placement at;
        AUTO(world) struct world w = {0};
        struct err err;

        set_up(&w, 1000 + seed);
        for (int round = 0; round < 10; round++)
            step(&w);
        r = some_requirements(&w);
        for (uint32_t left = vipu_allocator_count(&w.a, &r);; left--) {
            CHECK_INT_EQ(vipu_allocator_count(&w.a, &r), left);
            if (!vipu_allocator_find(&w.a, &r, &at, &err))
                break;
            CHECK(vipu_allocator_reserve(&w.a, at.cluster, at.ipus, r.size));
            vipu_placement_release(&at);
        }
    }
}

TEST(blockers_are_the_cheapest_set)
{
    for (size_t seed = 0; check_row("seed", seed, 30); seed++) {
        AUTO(world) struct world w = {0};

        set_up(&w, 2000 + seed);
        for (int round = 0; round < 30; round++)
            step(&w);
        for (int round = 0; round < 3; round++) {
            struct vipu_requirements r = some_requirements(&w);

            check_blockers(&w, &r);
        }
    }
}

/* ---- listed IPUs ---- */

struct list {
    struct vipu_requirements r;
    struct vipu_ipu ipus[4];
};

static void some_list(struct world *w, struct list *list)
{
    struct vipu_cluster *cluster = &w->clusters.items[below(w, CLUSTERS)];
    uint32_t size = 1u << below(w, 3), domain = below(w, DOMAINS), first = below(w, 20);

    list->r = (struct vipu_requirements){.size = size, .num_ilds = 1, .ipus = list->ipus, .ipu_count = size};
    list->r.allocation_id = cluster->allocations[below(w, ALLOCATIONS)].id;
    for (uint32_t i = 0; i < size; i++)
        list->ipus[i] =
            (struct vipu_ipu){.domain_topology_id = domain, .topology_id = first + i, .routing_id = i};
    for (uint32_t i = size; i > 1 && chance(w, 2); i--) { /* any order */
        uint32_t other = below(w, i), routing = list->ipus[i - 1].routing_id;

        list->ipus[i - 1].routing_id = list->ipus[other].routing_id;
        list->ipus[other].routing_id = routing;
    }
    if (chance(w, 6))
        list->ipus[below(w, size)].routing_id = below(w, size + 1);
    if (chance(w, 6))
        list->ipus[below(w, size)].topology_id = chance(w, 2) ? first : 64 + below(w, 1000);
    if (size > 1 && chance(w, 4)) {
        list->ipus[size - 1].domain_topology_id = below(w, DOMAINS + 1);
        list->r.num_ilds = 1 + below(w, 2);
    }
}

/* Every rule of a list, each looked at by itself. */
static bool is_sound(const struct world *w, const struct list *list)
{
    const struct vipu_cluster *cluster;
    const struct vipu_allocation *allocation =
        vipu_clusters_allocation(&w->clusters, list->r.allocation_id, &cluster);
    uint32_t domains = 0;

    for (uint32_t i = 0; i < list->r.size; i++) {
        const struct vipu_ipu *ipu = &list->ipus[i];
        bool is_first_of_domain = true;

        if (ipu->domain_topology_id >= cluster->domain_count || ipu->topology_id >= VIPU_ILD_IPUS ||
            !(allocation->usable[ipu->domain_topology_id] & bit(ipu)) || ipu->routing_id >= list->r.size)
            return false;
        for (uint32_t k = 0; k < i; k++) {
            bool same_domain = list->ipus[k].domain_topology_id == ipu->domain_topology_id;

            if (list->ipus[k].routing_id == ipu->routing_id ||
                (same_domain && list->ipus[k].topology_id == ipu->topology_id))
                return false;
            is_first_of_domain = is_first_of_domain && !same_domain;
        }
        domains += is_first_of_domain;
    }
    return domains == list->r.num_ilds;
}

static void check_list(struct world *w, const struct list *list, struct partition *p)
{
    const struct vipu_cluster *cluster;
    struct strv problems = {0};
    bool is_free = true;
    struct err err;

    CHECK_INT_EQ(vipu_allocator_check(&w->a, &list->r, &problems), is_sound(w, list));
    strv_release(&problems);
    if (!is_sound(w, list))
        return;
    vipu_clusters_allocation(&w->clusters, list->r.allocation_id, &cluster);
    for (uint32_t i = 0; i < list->r.size; i++)
        is_free = is_free &&
                  !(taken_in(w, (size_t)(cluster - w->clusters.items), list->ipus[i].domain_topology_id, 0) &
                    bit(&list->ipus[i]));
    CHECK_INT_EQ(vipu_allocator_count(&w->a, &list->r), is_free);
    CHECK_INT_EQ(vipu_allocator_find(&w->a, &list->r, &p->at, &err), is_free);
    if (!is_free)
        return;
    p->r = list->r;
    for (uint32_t i = 0; i < list->r.size; i++)
        CHECK_INT_EQ(p->at.ipus[list->ipus[i].routing_id].topology_id, list->ipus[i].topology_id);
    CHECK(vipu_allocator_reserve(&w->a, p->at.cluster, p->at.ipus, p->r.size));
}

TEST(listed_ipus_are_taken_as_listed_or_not_at_all)
{
    for (size_t seed = 0; check_row("seed", seed, 150); seed++) {
        AUTO(world) struct world w = {0};

        set_up(&w, 3000 + seed);
        for (int round = 0; round < 100; round++) {
            struct partition *p = &w.held[below(&w, HOLDERS)];
            struct list list;

            if (p->at.ipus)
                remove_it(&w, p);
            some_list(&w, &list);
            check_list(&w, &list, p);
            check_books(&w);
        }
    }
}

TEST(the_blockers_of_a_list_are_those_who_have_its_ipus)
{
    struct vipu_ipu mine[2] = {{.topology_id = 0, .routing_id = 0}, {.topology_id = 1, .routing_id = 1}};
    struct vipu_ipu wanted[2] = {{.topology_id = 1, .routing_id = 0}, {.topology_id = 2, .routing_id = 1}};
    struct vipu_requirements r = {
        .size = 2, .num_ilds = 1, .ipus = wanted, .ipu_count = 2, .cluster_id = "c0"};
    struct vipu_holder holder;
    AUTO(world) struct world w = {0};
    size_t blocker[1];

    set_up(&w, 1);
    holder = (struct vipu_holder){&w.clusters.items[0], mine, 2};
    CHECK_INT_EQ(vipu_allocator_blockers(&w.a, &r, NULL, 0, blocker), 0);
    CHECK(vipu_allocator_reserve(&w.a, holder.cluster, mine, 2));
    CHECK_INT_EQ(vipu_allocator_blockers(&w.a, &r, &holder, 1, blocker), 1);
    CHECK_INT_EQ(blocker[0], 0);
    CHECK_INT_EQ(vipu_allocator_count(&w.a, &r), 0);
}

TEST(what_could_not_be_removed_does_not_block)
{
    struct vipu_ipu theirs = {.topology_id = 0}, unknown = {.topology_id = 4};
    struct vipu_requirements r = {.size = 8, .num_ilds = 1, .cluster_id = "c0"};
    struct vipu_holder holder;
    AUTO(world) struct world w = {0};
    size_t blocker[1];

    set_up(&w, 1);
    for (size_t d = 0; d < w.clusters.items[0].domain_count; d++)
        vipu_allocator_set_failed(&w.a, &w.clusters.items[0], d, d == 0 ? ~(uint64_t)0xff : UINT64_MAX);
    holder = (struct vipu_holder){&w.clusters.items[0], &theirs, 1};
    CHECK(vipu_allocator_reserve(&w.a, holder.cluster, &theirs, 1));
    CHECK_INT_EQ(vipu_allocator_blockers(&w.a, &r, &holder, 1, blocker), 1);
    CHECK(vipu_allocator_reserve(&w.a, holder.cluster, &unknown, 1));
    CHECK_INT_EQ(vipu_allocator_blockers(&w.a, &r, &holder, 1, blocker), 0);
}

TEST(what_cannot_be_taken_leaves_no_trace)
{
    static const struct vipu_ipu rows[][3] = {
        {{.topology_id = 0}, {.topology_id = 1}, {.topology_id = 0}},
        {{.topology_id = 0}, {.topology_id = 64}, {.topology_id = 1}},
        {{.topology_id = 0}, {.domain_topology_id = 99}, {.topology_id = 1}},
        {{.topology_id = 0}, {.domain_topology_id = 1, .topology_id = 60}, {.topology_id = 1}},
        {{.topology_id = 0}, {.domain_topology_id = 1}, {.topology_id = 0}},
    };
    AUTO(world) struct world w = {0};

    set_up(&w, 1);
    CHECK(vipu_allocator_reserve(&w.a, &w.clusters.items[0], rows[0], 0));
    vipu_allocator_unreserve(&w.a, &w.clusters.items[0], rows[0], 0);
    CHECK_ROWS (row, rows) {
        CHECK(!vipu_allocator_reserve(&w.a, &w.clusters.items[0], *row, 3));
        check_books(&w);
    }
}

TEST(what_can_never_fit_is_not_called_busy)
{
    struct vipu_requirements r = {.size = 32, .num_ilds = 1};
    struct vipu_placement at;
    AUTO(world) struct world w = {0};
    struct err err;

    set_up(&w, 1);
    CHECK_ERR(vipu_allocator_find(&w.a, &r, &at, &err), err, ERR_INVALID);
    CHECK_STR_EQ(err.msg, "32 IPUs over 1 IPU-Link domain can never fit: 56 IPUs in all, largest block 16");
}

TEST(a_busy_cluster_says_what_is_left)
{
    struct vipu_requirements r = {.size = 16, .num_ilds = 1};
    struct vipu_placement at;
    AUTO(world) struct world w = {0};
    struct err err;

    set_up(&w, 1);
    for (size_t c = 0; c < w.clusters.count; c++)
        for (size_t d = 0; d < w.clusters.items[c].domain_count; d++)
            vipu_allocator_set_failed(&w.a, &w.clusters.items[c], d, UINT64_MAX);
    CHECK_ERR(vipu_allocator_find(&w.a, &r, &at, &err), err, ERR_BUSY);
    CHECK_STR_EQ(err.msg, "not enough free IPUs: 16 IPUs over 1 IPU-Link domain requested, 0 of 56 free, "
                          "largest block 0");
}

/* On record: gateway routing RING is for clusters with loop links, SWRING for switched gateway links. */
TEST(what_is_wrong_with_names_and_cables)
{
    static const struct {
        const char *cluster, *allocation;
        enum vipu_routing routing;
        enum vipu_gateway_routing gateway;
        const char *says;
    } rows[] = {
        {"x", NULL, 0, 0, "cluster \"x\" not found"},
        {NULL, "y", 0, 0, "allocation \"y\" not found"},
        {"c0", "c1-1", 0, 0, "allocation \"c1-1\" is part of cluster \"c1\", not of \"c0\""},
        {"c0", NULL, VIPU_ROUTING_RINGSWNC, 0, "not available in cluster \"c0\""},
        {"c1", NULL, 0, VIPU_GATEWAY_RING, "looped gateway links, not available in cluster \"c1\""},
        {NULL, NULL, 0, VIPU_GATEWAY_SWRING, "switched gateway links, not available in any cluster"},
        {NULL, NULL, VIPU_ROUTING_RINGSWNC, VIPU_GATEWAY_RING,
         "no cluster supports both routing RINGSWNC and gateway routing RING"},
    };
    AUTO(world) struct world w = {0};

    set_up(&w, 1);
    w.clusters.items[0].torus = w.clusters.items[0].switched = false;
    w.clusters.items[0].looped = w.clusters.items[1].torus = true;
    w.clusters.items[1].looped = w.clusters.items[1].switched = false;
    CHECK_ROWS (row, rows) {
        AUTO(strv) struct strv problems = {0};
        struct vipu_requirements r = {.size = 8,
                                      .num_ilds = 2,
                                      .cluster_id = row->cluster,
                                      .allocation_id = row->allocation,
                                      .routing = row->routing,
                                      .gateway_routing = row->gateway};

        CHECK(!vipu_allocator_check(&w.a, &r, &problems));
        CHECK_INT_EQ(problems.count, 1);
        CHECK_HAS(problems.items[0], row->says);
    }
}
