/* What the operator tells its users about a controller. */
#include "lib/check.h"

#include "base/core/mem.h"
#include "unit/vipu/placement/random.h"
#include "vipu/model/agents.h"
#include "vipu/placement/allocator.h"
#include "vipu/placement/pool.h"

/* A list under construction, and the view of it; texts are not owned by the partitions, so only the arrays
 * are freed. */
struct draft {
    struct vipu_partition items[16];
    struct vipu_partitions list;
    struct vipu_pool_view v;
};

static void draft_init(struct draft *d)
{
    *d = (struct draft){0};
}

static void add(struct draft *d, char *cluster, uint32_t domain, uint32_t start, uint32_t size)
{
    struct vipu_partition *p = &d->items[d->list.count++];

    *p = (struct vipu_partition){.cluster_id = cluster, .size = size, .ready_state = VIPU_READY_ACTIVE};
    p->ipus = mem_alloc(size * sizeof(*p->ipus));
    for (uint32_t i = 0; i < size; i++)
        p->ipus[i] = (struct vipu_ipu){.domain_topology_id = domain + (start + i) / 64,
                                       .topology_id = (start + i) % 64,
                                       .routing_id = i};
    d->list.items = d->items;
}

static void draft_release(struct draft *d)
{
    vipu_pool_view_release(&d->v);
    for (size_t i = 0; i < d->list.count; i++)
        mem_free(d->items[i].ipus);
}

DEFINE_AUTO(draft);

static void view(struct draft *d, uint32_t total_ipus)
{
    d->v = vipu_pool_view_of(&d->list, (struct vipu_pool_shape){.total_ipus = total_ipus});
}

static char cl1[] = "cl1", cl2[] = "cl2";

TEST_F(draft, d, an_empty_controller)
{
    view(d, 64);
    CHECK(d->v.placed);
    CHECK_INT_EQ(d->v.free_ipus, 64);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 64), 1);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 16), 4);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 1), 64);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 128), 0);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 3), 0);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 0), 0);
    CHECK_INT_EQ(vipu_pool_capacity(&d->v), 64);
    CHECK_INT_EQ(vipu_pool_largest_free(&d->v), 64);
    CHECK(vipu_pool_could_fit(&d->v, 64));
    CHECK(!vipu_pool_could_fit(&d->v, 128));
    CHECK(!vipu_pool_could_fit(&d->v, 48));
    CHECK(!vipu_pool_could_fit(&d->v, 0));
}

TEST_F(draft, d, free_ipus_that_are_not_together)
{
    size_t blocker[16], count;

    add(d, cl1, 0, 16, 4); /* one in each half: 56 are free, no 32 fit */
    add(d, cl1, 0, 32, 2);
    add(d, cl1, 0, 48, 2);
    view(d, 64);
    CHECK(d->v.placed);
    CHECK_INT_EQ(d->v.used_ipus, 8);
    CHECK_INT_EQ(d->v.free_ipus, 56);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 32), 0);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 16), 1);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 8), 5);
    CHECK_INT_EQ(vipu_pool_largest_free(&d->v), 16);
    CHECK_INT_EQ(vipu_pool_capacity(&d->v), 64);
    /* 32 IPUs: the lower half costs one partition of 4, the upper one two of 2; the first of the cheapest. */
    count = vipu_pool_blockers(&d->v, &d->list, 32, blocker);
    CHECK_INT_EQ(count, 1);
    CHECK_INT_EQ(blocker[0], 0);
    count = vipu_pool_blockers(&d->v, &d->list, 64, blocker);
    CHECK_INT_EQ(count, 3);
    CHECK_INT_EQ(vipu_pool_blockers(&d->v, &d->list, 16, blocker), 0);
    CHECK_INT_EQ(vipu_pool_blockers(&d->v, &d->list, 128, blocker), 0);
}

TEST_F(draft, d, several_domains)
{
    size_t blocker[16];

    add(d, cl1, 1, 0, 1);
    view(d, 256);
    CHECK(d->v.placed);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 64), 3);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 128), 1);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 256), 0);
    CHECK_INT_EQ(vipu_pool_capacity(&d->v), 256);
    CHECK_INT_EQ(vipu_pool_blockers(&d->v, &d->list, 256, blocker), 1);
}

TEST_F(draft, d, several_clusters)
{
    add(d, cl1, 0, 0, 64);
    add(d, cl2, 0, 0, 1); /* the same numbers, another cluster */
    view(d, 192);
    CHECK(d->v.placed);
    CHECK_INT_EQ(d->v.used_ipus, 65);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 64), 1);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 32), 3);
    CHECK_INT_EQ(vipu_pool_capacity(&d->v), 128); /* of 192, in clusters of one domain and two */
}

TEST_F(draft, d, a_place_has_a_name_that_later_views_understand)
{
    static const char *const invalid[] = {"",      "16",       "1/16",      "cl3/0/0", "cl2/1/0",
                                          "cl2//", "cl2/0/49", "cl2/0/-16", "cl2/0/64"};
    struct vipu_pool_part parts[128], part, found;
    struct vipu_ipu ipus[128];

    add(d, cl1, 0, 0, 128);
    add(d, cl2, 0, 16, 48);
    view(d, 192);
    CHECK_INT_EQ(vipu_pool_parts(&d->v, &d->items[0], parts), 1);
    CHECK_INT_EQ(parts[0].domain_count, 2);
    CHECK_INT_EQ(vipu_pool_parts(&d->v, &d->items[1], parts), 1);
    part = parts[0];
    CHECK_INT_EQ(part.domain, 3); /* behind the gap between clusters */
    CHECK(!vipu_pool_take(&d->v, &part));
    part.ipus = vipu_block_mask(0, 16);
    AUTO(mem) char *name = vipu_pool_part_name(&d->v, &part);
    CHECK_STR_EQ(name, "cl2/0/0");
    CHECK(vipu_pool_part_of(&d->v, name, 16, &found));
    CHECK_INT_EQ(found.domain, 3);
    CHECK_INT_EQ(found.ipus, part.ipus);
    CHECK_STR_EQ(vipu_pool_part_ipus(&d->v, &found, ipus), "cl2");
    CHECK_INT_EQ(ipus[15].domain_topology_id, 0);
    CHECK_INT_EQ(ipus[15].topology_id, 15);
    CHECK_INT_EQ(ipus[15].routing_id, 15);
    CHECK(vipu_pool_take(&d->v, &found));
    CHECK_INT_EQ(d->v.free_ipus, 0);
    CHECK(vipu_pool_part_of(&d->v, "cl1/0/0", 128, &found));
    CHECK(!vipu_pool_part_of(&d->v, "cl1/1/0", 128, &found));
    CHECK(!vipu_pool_part_of(&d->v, "cl1/0/0", 96, &found));
    CHECK(!vipu_pool_part_of(&d->v, "cl1/0/0", 0, &found));
    for (size_t i = 0; i < COUNT_OF(invalid); i++)
        CHECK(!vipu_pool_part_of(&d->v, invalid[i], 16, &found));
}

/* Only partitions name clusters. */
TEST_F(draft, d, a_place_of_an_empty_controller_stays_valid_when_its_cluster_has_a_name)
{
    struct vipu_pool_part part = {.domain_count = 1, .ipus = vipu_block_mask(8, 8)}, found;

    view(d, 64);
    AUTO(mem) char *name = vipu_pool_part_name(&d->v, &part);
    CHECK_STR_EQ(name, "/0/8");
    vipu_pool_view_release(&d->v);
    add(d, cl1, 0, 0, 8);
    view(d, 64);
    CHECK(vipu_pool_part_of(&d->v, name, 8, &found));
    CHECK_INT_EQ(found.ipus, part.ipus);
}

TEST_F(draft, d, a_small_pod)
{
    add(d, cl1, 0, 0, 4);
    view(d, 16);
    CHECK(d->v.placed);
    CHECK_INT_EQ(vipu_pool_capacity(&d->v), 16);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 16), 0);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 8), 1);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 64), 0);
}

TEST_F(draft, d, a_removed_partition_holds_nothing)
{
    add(d, cl1, 0, 0, 64);
    add(d, cl1, 0, 0, 64);
    d->items[0].ready_state = VIPU_READY_REMOVED;
    view(d, 64);
    CHECK(d->v.placed);
    CHECK_INT_EQ(d->v.used_ipus, 64);
}

TEST(ids_that_place_nothing_are_only_counted)
{
    static const struct {
        uint32_t domain, start;
        bool twice;
    } rows[] = {{0, 0, true}, {5, 0, false}, {0, 62, false}, {UINT32_MAX - 1, 0, false}};

    CHECK_ROWS (row, rows) {
        AUTO(draft) struct draft d = {0};
        size_t blocker[16];

        add(&d, cl1, row->domain, row->start, 4);
        if (row->twice)
            add(&d, cl1, row->domain, row->start, 4);
        view(&d, 64);
        CHECK(!d.v.placed);
        CHECK_INT_EQ(d.v.used_ipus, row->twice ? 8 : 4);
        CHECK_INT_EQ(vipu_pool_fit_count(&d.v, 4), row->twice ? 14 : 15);
        CHECK_INT_EQ(vipu_pool_fit_count(&d.v, 64), 0);
        CHECK_INT_EQ(vipu_pool_capacity(&d.v), 64);
        CHECK_INT_EQ(vipu_pool_largest_free(&d.v), 32);
        CHECK_INT_EQ(vipu_pool_blockers(&d.v, &d.list, 64, blocker), 0);
    }
}

TEST_F(draft, d, a_controller_without_ipus)
{
    add(d, cl1, 0, 0, 4);
    view(d, 0);
    CHECK_INT_EQ(d->v.free_ipus, 0);
    CHECK_INT_EQ(vipu_pool_fit_count(&d->v, 1), 0);
    CHECK_INT_EQ(vipu_pool_capacity(&d->v), 0);
}

enum { DOMAINS = 5, HELD = 16 };

/* A controller of one cluster, as its allocator has it and as its list of partitions tells. */
struct controller {
    struct vipu_allocation whole;
    struct vipu_cluster cluster;
    struct vipu_clusters clusters;
    struct vipu_allocator a;
    struct vipu_partition held[HELD];
    struct vipu_holder holders[HELD];
};

static void start(struct controller *c)
{
    *c = (struct controller){.whole = {.id = cl1, .usable = mem_alloc(DOMAINS * sizeof(uint64_t))}};
    c->cluster = (struct vipu_cluster){.id = cl1,
                                       .domains = mem_alloc(DOMAINS * sizeof(struct vipu_cluster_domain)),
                                       .domain_count = DOMAINS,
                                       .allocations = &c->whole,
                                       .allocation_count = 1};
    c->clusters = (struct vipu_clusters){&c->cluster, 1};
    for (size_t d = 0; d < DOMAINS; d++) {
        c->cluster.domains[d].machine_count = VIPU_DOMAIN_AGENTS;
        c->whole.usable[d] = UINT64_MAX;
    }
    vipu_allocator_init(&c->a, &c->clusters);
}

static void stop(struct controller *c)
{
    for (size_t h = 0; h < HELD; h++)
        mem_free(c->held[h].ipus);
    vipu_allocator_release(&c->a);
    mem_free(c->cluster.domains);
    mem_free(c->whole.usable);
}

static void come_or_go(struct controller *c, uint64_t *seed)
{
    struct vipu_partition *p = &c->held[next_random(seed) % HELD];
    struct vipu_requirements r = {.size = 1u << next_random(seed) % 8, .num_ilds = 1};
    struct vipu_placement at;
    struct err err;

    if (p->size) {
        vipu_allocator_unreserve(&c->a, &c->cluster, p->ipus, p->size);
        mem_free(p->ipus);
        *p = (struct vipu_partition){0};
        return;
    }
    r.num_ilds = r.size > VIPU_ILD_IPUS ? r.size / VIPU_ILD_IPUS : 1;
    if (!vipu_allocator_find(&c->a, &r, &at, &err))
        return;
    CHECK(vipu_allocator_reserve(&c->a, at.cluster, at.ipus, r.size));
    *p = (struct vipu_partition){
        .cluster_id = cl1, .size = r.size, .ready_state = VIPU_READY_ACTIVE, .ipus = at.ipus};
}

static void check_views(struct controller *c)
{
    struct vipu_partitions list = {.items = c->held, .count = HELD};
    AUTO(vipu_pool_view)
    struct vipu_pool_view view =
        vipu_pool_view_of(&list, (struct vipu_pool_shape){.total_ipus = DOMAINS * VIPU_ILD_IPUS});

    CHECK(view.placed);
    for (size_t h = 0; h < HELD; h++)
        c->holders[h] = (struct vipu_holder){&c->cluster, c->held[h].ipus, c->held[h].size};
    for (uint32_t size = 1; size <= 512; size *= 2) {
        struct vipu_requirements r = {.size = size, .num_ilds = size > 64 ? size / 64 : 1};
        size_t mine[HELD], theirs[HELD];
        size_t count = vipu_pool_blockers(&view, &list, size, mine);

        CHECK_INT_EQ(vipu_pool_fit_count(&view, size), vipu_allocator_count(&c->a, &r));
        CHECK_INT_EQ(vipu_allocator_blockers(&c->a, &r, c->holders, HELD, theirs), count);
        for (size_t b = 0; b < count; b++)
            CHECK_INT_EQ(mine[b], theirs[b]);
    }
}

/* The operator foresees what vipu-server does: it knows no more than the list, and places by the same rule.
 */
TEST(the_view_from_outside_is_the_controllers_own)
{
    for (size_t seed = 0; check_row("seed", seed, 20); seed++) {
        struct controller c;
        uint64_t state = seed;

        start(&c);
        for (int round = 0; round < 100; round++) {
            come_or_go(&c, &state);
            check_views(&c);
        }
        stop(&c);
    }
}

TEST(agents_in_natural_order)
{
    struct vipu_agents agents = {.items = mem_alloc(4 * sizeof(struct vipu_agent)), .count = 4};
    static const char *const given[] = {"ag10", "ag2", "ag02", "ag"}, *const want[] = {"ag", "ag02", "ag2",
                                                                                       "ag10"};

    for (size_t i = 0; i < agents.count; i++) {
        agents.items[i].name = mem_strdup(given[i]);
        agents.items[i].ipus = mem_alloc(4 * sizeof(struct vipu_agent_ipu));
        agents.items[i].ipu_count = 4;
    }
    vipu_agents_sort(&agents);
    for (size_t i = 0; i < agents.count; i++)
        CHECK_STR_EQ(agents.items[i].name, want[i]);
    CHECK_INT_EQ(agents.total_ipus, 16);
    vipu_agents_release(&agents);
    CHECK(vipu_name_compare("ag.13.2", "ag.13.10") < 0);
    CHECK_INT_EQ(vipu_name_compare("a", "a"), 0);
    CHECK(vipu_name_compare("a99999999999999999999999", "a100000000000000000000000") < 0);
}
