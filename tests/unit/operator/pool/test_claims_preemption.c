#include "operator/pool/claims_preemption.h"

#include <stdio.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "lib/check.h"

#define DOMAINS 3
#define MAX 48
#define NOW 100000
#define EXEMPT 600

/* A controller of three domains, what runs there, and what waits. */
struct machine {
    struct vipu_partition items[MAX];
    struct claims_running running[MAX];
    struct claim claims[MAX];
    size_t count, claim_count;
    struct vipu_pool_view pool;
    struct claims_controller controller;
    struct claims_view view;
    struct claim_verdict verdicts[MAX];
    struct claims_grants grants;
    struct claims_plan *plan;
    struct claims_preemption found;
};

static char cl1[] = "cl1";

static void machine_init(struct machine *m)
{
    *m = (struct machine){0};
    m->controller = (struct claims_controller){.name = "a:1",
                                               .is_known = true,
                                               .has_nodes = true,
                                               .policy = FORECAST_BOUNDED,
                                               .pool = &m->pool,
                                               .running = m->running};
    m->view = (struct claims_view){.controllers = &m->controller,
                                   .controller_count = 1,
                                   .now_s = NOW,
                                   .settings = FORECAST_SETTINGS_DEFAULT};
}

static void forget_plan(struct machine *m)
{
    claims_plan_free(TAKE(m->plan));
    vipu_pool_view_release(&m->pool);
}

static void machine_release(struct machine *m)
{
    forget_plan(m);
    claims_grants_release(&m->grants);
    for (size_t i = 0; i < m->count; i++)
        mem_free(m->items[i].ipus);
}

/* A job that agrees to be preempted and has had its IPUs for `age_s`. */
static struct claims_running *runs(struct machine *m, const char *uid, uint32_t domain, uint32_t first,
                                   uint32_t size, int64_t age_s)
{
    struct vipu_partition *p = &m->items[m->count];
    struct claims_running *it = &m->running[m->count++];

    *p = (struct vipu_partition){.cluster_id = cl1, .size = size, .ready_state = VIPU_READY_ACTIVE};
    p->ipus = mem_alloc(size * sizeof(*p->ipus));
    for (uint32_t i = 0; i < size; i++)
        p->ipus[i] = (struct vipu_ipu){
            .domain_topology_id = domain + i / 64, .topology_id = first + i % 64, .routing_id = i};
    *it = (struct claims_running){.partition = p,
                                  .size = size,
                                  .job = uid,
                                  .uid = uid,
                                  .start_s = NOW - age_s,
                                  .end_s = FORECAST_UNKNOWN,
                                  .is_preemptible = true};
    return it;
}

/* A job that preempts. */
static struct claim *waits(struct machine *m, const char *job, int32_t priority, int64_t turn_s,
                           uint32_t size)
{
    struct claim *claim = &m->claims[m->claim_count++];

    *claim = (struct claim){.job = job,
                            .uid = job,
                            .count = 1,
                            .priority = priority,
                            .preempts = true,
                            .turn_s = turn_s,
                            .size = size,
                            .bound_s = FORECAST_UNKNOWN,
                            .is_ready = true};
    return claim;
}

static bool find(struct machine *m)
{
    const struct vipu_partitions list = {.items = m->items, .count = m->count};

    forget_plan(m);
    m->pool = vipu_pool_view_of(&list, (struct vipu_pool_shape){.total_ipus = DOMAINS * 64});
    CHECK(m->pool.placed);
    m->controller.running_count = m->count;
    m->plan = claims_decide(&m->view, m->claims, m->claim_count, m->verdicts, &m->grants);
    return claims_find_preemption(&m->view, m->claims, m->plan, EXEMPT, &m->found);
}

static void check_found(struct machine *m, const char *job, const char *victim)
{
    CHECK(find(m));
    CHECK_STR_EQ(m->claims[m->found.claim].job, job);
    CHECK_INT_EQ(m->found.victim_count, 1);
    CHECK_STR_EQ(m->running[m->found.victims[0]].job, victim);
}

/* Domain 0 has been in use for 2000 s, 1 for 1000 s, and 2 is used by somebody who does not agree. */
static void fill(struct machine *m)
{
    runs(m, "ns/old", 0, 0, 64, 2000);
    runs(m, "ns/new", 1, 0, 64, 1000);
    runs(m, "ns/not", 2, 0, 64, 700)->is_preemptible = false;
}

TEST_F(machine, m, the_job_that_loses_least_gives_its_ipus)
{
    fill(m);
    waits(m, "ns/urgent", 10, 1, 64);
    check_found(m, "ns/urgent", "ns/new");
    CHECK_INT_EQ(m->found.cost_ipu_s, 64 * (1000 + 240));
    m->running[0].checkpoint_s = NOW - 10;
    check_found(m, "ns/urgent", "ns/old");
    CHECK_INT_EQ(m->found.cost_ipu_s, 64 * (10 + 240));
}

TEST_F(machine, m, nobody_gives_ipus_who_has_not_agreed_or_is_as_important)
{
    fill(m);
    waits(m, "ns/urgent", 10, 1, 64);
    m->running[1].priority = 10;
    check_found(m, "ns/urgent", "ns/old");
    m->running[0].is_preemptible = false;
    CHECK(!find(m));
    CHECK(m->found.again_s == FORECAST_UNKNOWN);
}

TEST_F(machine, m, only_a_class_that_asks_for_it_preempts)
{
    fill(m);
    waits(m, "ns/urgent", 10, 1, 64)->preempts = false;
    CHECK(!find(m));
    m->claims[0].preempts = true;
    m->claims[0].is_ready = false;
    CHECK(!find(m));
}

TEST_F(machine, m, a_new_job_keeps_its_ipus_for_a_while)
{
    fill(m);
    m->running[0].start_s = NOW - EXEMPT + 7;
    m->running[1].start_s = NOW - EXEMPT + 5;
    waits(m, "ns/urgent", 10, 1, 64);
    CHECK(!find(m));
    CHECK_INT_EQ(m->found.again_s, NOW + 5);
}

TEST_F(machine, m, whose_ipus_are_being_released_is_counted_on)
{
    fill(m);
    m->running[0].is_leaving = true;
    m->running[0].end_s = NOW + 90;
    waits(m, "ns/urgent", 10, 1, 64);
    CHECK(!find(m));
    m->running[0].is_leaving = false;
    CHECK(find(m));
}

TEST_F(machine, m, nobody_is_preempted_for_who_starts_as_early_anyway)
{
    fill(m);
    m->running[0].release_s = m->running[1].release_s = 90;
    m->running[2].end_s = NOW + 91;
    waits(m, "ns/urgent", 10, 1, 64);
    check_found(m, "ns/urgent", "ns/new");
    m->running[2].end_s = NOW + 90;
    CHECK(!find(m));
}

TEST_F(machine, m, nobody_is_preempted_for_the_sake_of_an_earlier_job)
{
    fill(m);
    waits(m, "ns/first", 10, 1, 64)->preempts = false;
    waits(m, "ns/second", 10, 2, 64);
    m->view.settings.depth = 2;
    CHECK(!find(m));
    m->claims[0].preempts = true;
    m->view.settings.depth = 1;
    check_found(m, "ns/first", "ns/new");
}

TEST_F(machine, m, ipus_that_make_no_block_are_left_alone)
{
    for (uint32_t d = 0; d < DOMAINS; d++) {
        runs(m, d == 0 ? "ns/a" : d == 1 ? "ns/b" : "ns/c", d, 0, 32, 2000);
        runs(m, d == 0 ? "ns/d" : d == 1 ? "ns/e" : "ns/f", d, 32, 32, 2000)->is_preemptible = false;
    }
    waits(m, "ns/urgent", 10, 1, 64); /* 96 IPUs of those who agree are no domain */
    CHECK(!find(m));
}

/* ---- free IPUs that make no block ---- */

/* 4 IPUs are in use in each domain. */
static void fragment(struct machine *m)
{
    runs(m, "ns/old", 0, 0, 4, 2000)->end_s = NOW + 9000;
    runs(m, "ns/new", 1, 0, 4, 1000)->end_s = NOW + 9000;
    runs(m, "ns/not", 2, 0, 4, 700)->is_preemptible = false;
    m->running[2].end_s = NOW + 9000;
    waits(m, "ns/large", 0, 1, 64)->preempts = false;
}

static bool find_advice(struct machine *m)
{
    (void)find(m);
    return claims_find_advice(&m->view, m->plan, 0, &m->found);
}

TEST_F(machine, m, a_small_job_that_fits_elsewhere_is_named)
{
    fragment(m);
    CHECK(find_advice(m));
    CHECK_INT_EQ(m->found.victim_count, 1);
    CHECK_STR_EQ(m->running[m->found.victims[0]].job, "ns/not"); /* loses least, and need not agree */
    for (size_t i = 0; i < m->count; i++)
        m->running[i].end_s = NOW + 150; /* 64 x 150 is less than three times 4 x (700 + 240) */
    CHECK(!find_advice(m));
}

/* ---- whatever runs and waits ---- */

static uint64_t state;

static uint32_t roll(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static char names[MAX][8];

static void fill_at_random(struct machine *m, uint64_t seed)
{
    state = seed * 0x9e3779b97f4a7c15u;
    for (uint32_t at = 0; at < DOMAINS * 64 && m->count < MAX / 2;) {
        uint32_t size = 4u << roll(5);

        while (at % size)
            size /= 2;
        if (roll(4)) {
            struct claims_running *it = runs(m, names[m->count], at / 64, at % 64, size, 500 + roll(5000));

            it->priority = (int32_t)roll(4);
            it->is_preemptible = roll(3) > 0;
            it->checkpoint_s = roll(2) ? NOW - roll(400) : 0;
            it->end_s = roll(2) ? NOW + 1 + roll(5000) : FORECAST_UNKNOWN;
        }
        at += size;
    }
    for (uint32_t i = 0, count = 1 + roll(6); i < count; i++) {
        struct claim *it = waits(m, names[MAX / 2 + i], (int32_t)roll(5), roll(100), 4u << roll(6));

        it->preempts = roll(3) > 0;
        it->bound_s = roll(2) ? 100 + roll(3000) : FORECAST_UNKNOWN;
    }
    m->controller.policy = (enum forecast_policy)(seed % 3);
}

static void remove_running(struct machine *m, size_t i)
{
    mem_free(m->items[i].ipus);
    m->count--;
    m->items[i] = m->items[m->count];
    m->running[i] = m->running[m->count];
    for (size_t k = 0; k < m->count; k++)
        m->running[k].partition = &m->items[k];
}

static bool is_granted(const struct machine *m, const char *job)
{
    for (size_t i = 0; i < m->claim_count; i++) {
        if (m->claims[i].job == job)
            return m->verdicts[i].granted > 0;
    }
    return false;
}

/* Who is preempted waits with its old age, and nobody that it could preempt in turn has preempted it. */
TEST(the_preemptor_starts_and_the_victims_are_of_lower_priority)
{
    int found = 0;

    for (size_t i = 0; i < MAX; i++)
        (void)snprintf(names[i], sizeof(names[i]), "n%zu/j", i);
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct machine m;
        const char *preemptor;
        int32_t priority;

        machine_init(&m);
        fill_at_random(&m, seed);
        if (find(&m)) {
            found++;
            preemptor = m.claims[m.found.claim].job;
            priority = m.claims[m.found.claim].priority;
            CHECK(m.claims[m.found.claim].preempts && !is_granted(&m, preemptor));
            for (size_t k = m.count; k-- > 0;) {
                bool is_victim = false;
                struct claims_running gone = m.running[k];

                for (size_t v = 0; v < m.found.victim_count; v++)
                    is_victim = is_victim || m.found.victims[v] == k;
                if (!is_victim)
                    continue;
                CHECK(gone.is_preemptible && gone.priority < priority && NOW - gone.start_s >= EXEMPT);
                waits(&m, gone.job, gone.priority, 0, gone.size)->preempts = true;
                remove_running(&m, k);
            }
            (void)find(&m);
            CHECK(is_granted(&m, preemptor));
        }
        machine_release(&m);
    }
    CHECK(found > 300);
}
