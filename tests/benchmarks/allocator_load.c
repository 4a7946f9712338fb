/* The speed of placement decisions:
 *
 *     allocator-load DECISIONS SEED IPUS...
 *
 * For each number of IPUs (domains of 64) and each level of filling, after a long life of partitions of mixed
 * sizes: the time of one decision, that is find, take and give back, or find and hear that there is no room.
 * One JSON line per row: {"ipus":N,"fill":PERCENT,"kind":"one domain","us":T,"fits":PERCENT,"asked":MEAN}. */
#include <stdio.h>
#include <time.h>

#include "base/core/mem.h"
#include "vipu/placement/allocator.h"

#define MAX_IPUS (1024u * VIPU_ILD_IPUS)

struct held {
    struct vipu_placement at;
    uint32_t size;
};

struct bench {
    struct vipu_clusters clusters;
    struct vipu_allocator a;
    struct held *held;
    size_t count;
    uint32_t taken, total;
    uint64_t state;
};

static uint32_t dice(struct bench *b, uint32_t n)
{
    uint64_t z = b->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) % n);
}

static double now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void set_up(struct bench *b, uint32_t ipus, uint64_t seed)
{
    size_t domains = ipus / VIPU_ILD_IPUS;
    struct vipu_cluster *cluster = NEW(struct vipu_cluster);

    *b = (struct bench){.total = ipus, .state = seed, .clusters = {cluster, 1}};
    *cluster = (struct vipu_cluster){.id = mem_strdup("cl1"),
                                     .domains = mem_alloc(domains * sizeof(*cluster->domains)),
                                     .domain_count = domains,
                                     .allocations = NEW(struct vipu_allocation),
                                     .allocation_count = 1};
    cluster->allocations[0] =
        (struct vipu_allocation){mem_strdup("cl1"), mem_alloc(domains * sizeof(uint64_t))};
    for (size_t d = 0; d < domains; d++) {
        cluster->domains[d].machine_count = VIPU_DOMAIN_AGENTS;
        cluster->allocations[0].usable[d] = UINT64_MAX;
    }
    b->held = mem_alloc(ipus * sizeof(*b->held));
    vipu_allocator_init(&b->a, &b->clusters);
}

static void give(struct bench *b, size_t index)
{
    struct held *held = &b->held[index];

    vipu_allocator_unreserve(&b->a, held->at.cluster, held->at.ipus, held->size);
    b->taken -= held->size;
    vipu_placement_release(&held->at);
    *held = b->held[--b->count];
}

static bool take(struct bench *b, uint32_t size, uint32_t ilds)
{
    struct vipu_requirements r = {.size = size, .num_ilds = ilds, .cluster_id = "cl1"};
    struct held *held = &b->held[b->count];
    struct err err;

    if (!vipu_allocator_find(&b->a, &r, &held->at, &err))
        return false;
    if (!vipu_allocator_reserve(&b->a, held->at.cluster, held->at.ipus, size))
        return false;
    held->size = size;
    b->taken += size;
    b->count++;
    return true;
}

static void tear_down(struct bench *b)
{
    while (b->count > 0)
        give(b, b->count - 1);
    vipu_allocator_release(&b->a);
    vipu_clusters_release(&b->clusters);
    mem_free(b->held);
}

/* Partitions of all sizes come and go until the level is reached, then half of them once more. */
static void fill(struct bench *b, uint32_t percent)
{
    uint32_t want = (uint32_t)((uint64_t)b->total * percent / 100);

    for (uint32_t again = b->total / 8; b->taken < want || again > 0;) {
        uint32_t size = 1u << dice(b, 7);

        while (size > want - (b->taken < want ? b->taken : want) && size > 1)
            size /= 2;
        if (b->taken < want && !take(b, size, 1))
            take(b, 1, 1);
        if (b->taken < want)
            continue;
        for (uint32_t n = 1 + dice(b, 3); again > 0 && n > 0 && b->count > 0; n--)
            give(b, dice(b, (uint32_t)b->count));
        again -= again > 0;
    }
}

static void measure(struct bench *b, uint32_t percent, uint32_t decisions, bool several)
{
    uint32_t domains = b->total / VIPU_ILD_IPUS, fits = 0;
    uint64_t asked = 0;
    double begin = now_us();

    for (uint32_t i = 0; i < decisions; i++) {
        uint32_t ilds = several ? 2u << dice(b, (uint32_t)__builtin_ctz(domains)) : 1;
        uint32_t size = ilds << dice(b, 7);

        asked += size;
        if (take(b, size, ilds)) {
            fits++;
            give(b, b->count - 1);
        }
    }
    (void)printf("{\"ipus\":%u,\"fill\":%u,\"kind\":\"%s\",\"us\":%.3f,\"fits\":%.0f,\"asked\":%.1f}\n",
                 b->total, percent, several ? "several domains" : "one domain",
                 (now_us() - begin) / decisions, 100.0 * fits / decisions, (double)asked / decisions);
}

static void run(uint32_t ipus, uint32_t decisions, uint64_t seed)
{
    static const uint32_t levels[] = {0, 25, 50, 75, 90, 99, 100};

    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        struct bench b;

        set_up(&b, ipus, seed);
        fill(&b, levels[i]);
        measure(&b, levels[i], decisions, false);
        if (ipus > VIPU_ILD_IPUS)
            measure(&b, levels[i], decisions, true);
        tear_down(&b);
    }
}

int main(int argc, char **argv)
{
    uint32_t decisions, seed, ipus;

    if (argc < 4 || !parse_u32(argv[1], 1, 1000000000, &decisions) ||
        !parse_u32(argv[2], 0, UINT32_MAX, &seed)) {
        (void)fputs("Usage: allocator-load DECISIONS SEED IPUS...\n", stderr);
        return 2;
    }
    for (int i = 3; i < argc; i++) {
        if (!parse_u32(argv[i], VIPU_ILD_IPUS, MAX_IPUS, &ipus) || (ipus & (ipus - 1))) {
            (void)fprintf(stderr, "allocator-load: IPUS must be a power of two from %u to %u\n",
                          VIPU_ILD_IPUS, MAX_IPUS);
            return 2;
        }
        run(ipus, decisions, seed);
    }
    return 0;
}
