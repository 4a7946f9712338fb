/* The index of each allocation follows what is taken and what fails, domain by domain. */
#include "lib/check.h"

#include "base/core/mem.h"
#include "unit/vipu/placement/random.h"
#include "vipu/placement/ledger.h"

#define DOMAINS 200u
#define ALLOCATIONS 4u

struct bench {
    struct vipu_cluster cluster;
    struct vipu_allocation allocations[ALLOCATIONS];
    struct vipu_ledger ledger;
};

/* The whole cluster, a part in the middle, one domain, and nothing at all. */
static void bench_init(struct bench *b)
{
    *b = (struct bench){.cluster = {.domains = mem_alloc(DOMAINS * sizeof(struct vipu_cluster_domain)),
                                    .domain_count = DOMAINS,
                                    .allocations = b->allocations,
                                    .allocation_count = ALLOCATIONS}};
    for (size_t a = 0; a < ALLOCATIONS; a++)
        b->allocations[a].usable = mem_alloc(DOMAINS * sizeof(uint64_t));
    for (size_t d = 0; d < DOMAINS; d++) {
        b->cluster.domains[d].machine_count = VIPU_DOMAIN_AGENTS;
        b->allocations[0].usable[d] = UINT64_MAX;
        b->allocations[1].usable[d] = d >= 67 && d < 190 ? 0x0ff0ffffffffffffu : 0;
    }
    b->allocations[2].usable[130] = 0xff;
    vipu_ledger_init(&b->ledger, &b->cluster);
}

static void bench_release(struct bench *b)
{
    vipu_ledger_release(&b->ledger);
    for (size_t a = 0; a < ALLOCATIONS; a++)
        mem_free(b->allocations[a].usable);
    mem_free(b->cluster.domains);
}

static void check_allocations(const struct bench *b)
{
    for (size_t a = 0; a < ALLOCATIONS; a++) {
        const struct vipu_allocation_state *state = &b->ledger.allocations[a];
        uint32_t total = 0;

        for (size_t d = 0; d < DOMAINS; d++) {
            uint64_t usable = b->allocations[a].usable[d];
            bool is_inside = d >= state->first && d < state->first + state->blocks.domain_count;

            CHECK(is_inside || !usable);
            if (is_inside)
                CHECK(state->blocks.free[d - state->first] ==
                      (usable & ~b->ledger.taken[d] & ~b->ledger.failed[d]));
            total += (uint32_t)__builtin_popcountll(usable);
        }
        CHECK_INT_EQ(state->total, total);
    }
}

/* The lower half of consecutive domains, or of every third one. */
static size_t some_ipus(uint64_t *seed, struct vipu_ipu *ipus)
{
    uint32_t step = next_random(seed) % 3 ? 1 : 3, first = (uint32_t)(next_random(seed) % DOMAINS), count = 0;

    for (uint32_t d = first; d < DOMAINS && d < first + 100; d += step)
        for (uint32_t i = 0; i < 32; i++)
            ipus[count++] = (struct vipu_ipu){.domain_topology_id = d, .topology_id = i};
    return count;
}

TEST_F(bench, b, every_allocation_follows)
{
    struct vipu_ipu *ipus = mem_alloc((size_t)100 * 32 * sizeof(*ipus));
    uint64_t seed = 5;

    check_allocations(b);
    for (int round = 0; round < 60; round++) {
        size_t count = some_ipus(&seed, ipus), failing = next_random(&seed) % DOMAINS;
        uint64_t before = b->ledger.taken[ipus[0].domain_topology_id];

        vipu_ledger_set_failed(&b->ledger, failing, next_random(&seed) & next_random(&seed));
        CHECK(vipu_ledger_reserve(&b->ledger, ipus, count));
        check_allocations(b);
        CHECK(!vipu_ledger_reserve(&b->ledger, ipus, count));
        check_allocations(b);
        vipu_ledger_unreserve(&b->ledger, ipus, count);
        CHECK(b->ledger.taken[ipus[0].domain_topology_id] == before);
        check_allocations(b);
    }
    mem_free(ipus);
}
