/* The state machine on a clock of the test's own. */
#include "lib/check.h"

#include <time.h>

#include "base/core/mem.h"
#include "vipu/server/config/config.h"
#include "vipu/server/controller/controller.h"

struct bench {
    struct server_config config;
    struct controller c;
    struct strv problems;
    struct err err;
    struct fault_hardware broken;
    struct faults faults; /* the broken hardware, if any */
};

static void bench_init(struct bench *b)
{
    *b = (struct bench){0};
}

static void set_up(struct bench *b, const char *yaml)
{
    CHECK(server_config_parse(slice_of(yaml), "test", &b->config, &b->problems));
    controller_init(&b->c, &b->config.clusters, b->config.times, b->config.max_auto_reset_retries);
}

static void bench_release(struct bench *b)
{
    mem_free(b->broken.agent);
    controller_release(&b->c);
    server_config_release(&b->config);
    strv_release(&b->problems);
}

static bool create(struct bench *b, const char *id, uint32_t size, int64_t now)
{
    strv_release(&b->problems);
    return controller_create(&b->c, &(struct vipu_requirements){.id = id, .size = size}, now, &b->problems,
                             &b->err);
}

static const struct controller_partition *find(struct bench *b, const char *id)
{
    return controller_find(&b->c, id, &b->err);
}

TEST_F(bench, b, operations_take_their_time)
{
    set_up(b, "{create-ms: 100, remove-ms: 50, reset-ms: 70, clusters: [{id: a}]}");
    CHECK_OK(create(b, "p", 4, 1000), b->err);
    CHECK_INT_EQ(controller_step(&b->c, 1099), 1100);
    CHECK_INT_EQ(find(b, "p")->operation, VIPU_OPERATION_CREATING);
    CHECK_INT_EQ(controller_step(&b->c, 1100), -1);
    CHECK_INT_EQ(find(b, "p")->partition.ready_state, VIPU_READY_ACTIVE);
    CHECK_OK(controller_reset(&b->c, "p", false, 2000, &b->err), b->err);
    CHECK_ERR(controller_reset(&b->c, "p", false, 2001, &b->err), b->err, ERR_CONFLICT);
    CHECK_INT_EQ(controller_step(&b->c, 2000), 2070);
    CHECK_INT_EQ(controller_step(&b->c, 2070), -1);
    CHECK_OK(controller_remove(&b->c, "p", false, 3000, &b->err), b->err);
    CHECK_OK(controller_remove(&b->c, "p", true, 3040, &b->err), b->err); /* does not begin anew */
    CHECK_ERR(create(b, "p", 4, 3041), b->err, ERR_EXISTS);
    CHECK_INT_EQ(controller_step(&b->c, 3050), -1);
    CHECK(find(b, "p") == NULL);
    CHECK_INT_EQ(b->err.kind, ERR_NOT_FOUND);
}

TEST_F(bench, b, changes_are_reported_once)
{
    set_up(b, "{create-ms: 0, remove-ms: 0, clusters: [{id: a}]}");
    CHECK(!controller_has_changes(&b->c));
    CHECK_OK(create(b, "p", 4, 0), b->err);
    CHECK(controller_has_changes(&b->c));
    controller_saved(&b->c);
    CHECK(!controller_has_changes(&b->c));
    controller_step(&b->c, 0);
    CHECK(controller_has_changes(&b->c));
    CHECK_OK(controller_remove(&b->c, "p", false, 0, &b->err), b->err);
    controller_saved(&b->c);
    controller_step(&b->c, 0);
    CHECK_INT_EQ(b->c.removed.count, 1);
    CHECK_STR_EQ(b->c.removed.items[0], "p");
}

/* Everything that a request may change, in one line per partition. */
static char *describe(const struct bench *b)
{
    struct str out = {0};

    CONTROLLER_EACH (entry, &b->c) {
        str_addf(&out, "%s %d %d %lld %d %d %s", entry->partition.id, (int)entry->partition.ready_state,
                 (int)entry->operation, (long long)entry->due_ms, entry->is_forced, (int)entry->auto_resets,
                 entry->planned_error ? entry->planned_error : "-");
        for (uint32_t i = 0; i < entry->partition.size; i++)
            str_addf(&out, " %u/%u", entry->partition.ipus[i].domain_topology_id,
                     entry->partition.ipus[i].topology_id);
        str_addc(&out, '\n');
    }
    return str_take(&out);
}

TEST_F(bench, b, what_cannot_be_saved_is_undone)
{
    AUTO(mem) char *before = NULL;
    AUTO(mem) char *after = NULL;

    set_up(b, "{create-ms: 0, remove-ms: 5, reset-ms: 5, clusters: [{id: a}]}");
    CHECK_OK(create(b, "p", 4, 0), b->err);
    CHECK_OK(create(b, "q", 8, 0), b->err);
    controller_step(&b->c, 0);
    controller_saved(&b->c);
    before = describe(b);
    CHECK_OK(create(b, "r", 16, 10), b->err);
    CHECK_OK(controller_reset(&b->c, "p", false, 10, &b->err), b->err);
    CHECK_OK(controller_remove(&b->c, "p", false, 11, &b->err), b->err);
    CHECK_OK(controller_remove(&b->c, "p", true, 12, &b->err), b->err);
    CHECK_OK(controller_remove(&b->c, "r", true, 12, &b->err), b->err);
    controller_undo(&b->c);
    after = describe(b);
    CHECK_STR_EQ(after, before);
    CHECK(!controller_has_changes(&b->c));
    CHECK_INT_EQ(controller_step(&b->c, 100), -1);
    CHECK_OK(create(b, "r", 32, 100), b->err); /* its IPUs and its id are free */
}

/* The flag alone is a change, too: the caller was told that the removal is forced. */
TEST_F(bench, b, force_is_saved)
{
    set_up(b, "{create-ms: 0, remove-ms: 50, clusters: [{id: a}]}");
    CHECK_OK(create(b, "p", 4, 0), b->err);
    CHECK_OK(controller_remove(&b->c, "p", false, 0, &b->err), b->err);
    controller_saved(&b->c);
    CHECK_OK(controller_remove(&b->c, "p", true, 1, &b->err), b->err);
    CHECK(controller_has_changes(&b->c));
}

TEST_F(bench, b, every_reason_at_once)
{
    set_up(b, "clusters: [{id: a}]");
    CHECK_ERR(controller_create(
                  &b->c, &(struct vipu_requirements){.id = "", .size = 3, .num_gcds = 5, .cluster_id = "x"},
                  0, &b->problems, &b->err),
              b->err, ERR_INVALID);
    CHECK_INT_EQ(b->problems.count, 5);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* No IPU twice, each where it exists, and the masks say what the partitions say. */
static void check_books(const struct bench *b)
{
    uint64_t seen[3] = {0};

    CONTROLLER_EACH (entry, &b->c) {
        const struct vipu_partition *p = &entry->partition;

        CHECK(map_get(&b->c.by_id, p->id) == entry);
        for (uint32_t k = 0; k < p->size; k++) {
            uint64_t bit = (uint64_t)1 << p->ipus[k].topology_id;

            CHECK(p->ipus[k].domain_topology_id < 3);
            CHECK((seen[p->ipus[k].domain_topology_id] & bit) == 0);
            seen[p->ipus[k].domain_topology_id] |= bit;
        }
    }
    CHECK_INT_EQ(b->c.by_id.count, b->c.count);
    for (size_t d = 0; d < 3; d++)
        CHECK(vipu_allocator_taken(&b->c.allocator, &b->config.clusters.items[0], d) == seen[d]);
}

/* The faults of a test: they stay the test's own, so that what they count can be looked at. */
static void fail(struct bench *b, struct faults *faults, int64_t now)
{
    faults_begin(faults, now);
    controller_set_faults(&b->c, faults, now);
}

static void random_faults(struct faults *faults, uint64_t *seed)
{
    static const enum fault_moment moments[] = {FAULT_NOW, FAULT_CREATE, FAULT_RESET, FAULT_REMOVE};

    for (size_t i = 0; i < faults->hardware_count; i++) {
        mem_free(faults->hardware[i].agent);
        faults->hardware[i] = (struct fault_hardware){
            .agent = mem_printf("ag%u*", (unsigned)(1 + next_random(seed) % 9)),
            .ipu = next_random(seed) % 2 ? FAULTS_ALWAYS : (uint32_t)(next_random(seed) % 4),
            .for_ms = (uint32_t)(next_random(seed) % 200)};
    }
    for (size_t i = 0; i < faults->partition_count; i++)
        faults->partitions[i] = (struct fault_partition){.on = moments[next_random(seed) % 4],
                                                         .count = {(uint32_t)(next_random(seed) % 3),
                                                                   (uint32_t)(next_random(seed) % 5),
                                                                   (uint32_t)(next_random(seed) % 101)}};
    faults->linger_ms = next_random(seed) % 3 ? 0 : (uint32_t)(next_random(seed) % 40);
}

static void check_undone(struct bench *b, const char *saved, bool is_checked)
{
    AUTO(mem) char *after = NULL;

    controller_undo(&b->c);
    after = describe(b);
    if (is_checked) {
        CHECK_STR_EQ(after, saved);
        CHECK(!controller_has_changes(&b->c));
    }
}

/* Whatever fails and comes back, and however requests are mixed: no IPU in two partitions, nothing leaks, and
 * in the end nothing is under way. */
TEST_F(bench, b, random_requests_and_faults_keep_the_books)
{
    struct fault_hardware hardware[3] = {0};
    struct fault_partition partitions[3] = {0};
    struct faults faults = {.hardware = hardware, .partitions = partitions};
    uint64_t seed = 3;
    int64_t now = 0;
    unsigned states[8][8] = {0};
    AUTO(mem) char *saved_state = NULL;
    bool check_undo = false; /* only requests since the last save */

    set_up(
        b,
        "{create-ms: 20, remove-ms: 30, reset-ms: 10, clusters: [{id: a, ipulink-domains: 3, agents: 45}]}");
    b->c.times.auto_reset_ms = 15;
    for (int round = 0; round < 20000; round++) {
        AUTO(mem) char *id = mem_printf("p%u", (unsigned)(next_random(&seed) % 60));
        struct vipu_requirements r = {.id = id, .size = 1u << next_random(&seed) % 8};

        now += (int64_t)(next_random(&seed) % 5);
        r.relocatable = next_random(&seed) % 2;
        r.disable_auto_reset = next_random(&seed) % 4 == 0;
        if (round == 5000)
            faults.hardware_count = faults.partition_count = 3; /* a quarter of it runs without faults */
        switch (next_random(&seed) % 8) {
        case 0:
        case 1:
            strv_release(&b->problems);
            if (!controller_create(&b->c, &r, now, &b->problems, &b->err))
                CHECK(b->err.kind == ERR_EXISTS || b->err.kind == ERR_BUSY || b->err.kind == ERR_INVALID);
            break;
        case 2:
            if (!controller_remove(&b->c, id, next_random(&seed) % 2, now, &b->err))
                CHECK_INT_EQ(b->err.kind, ERR_NOT_FOUND);
            break;
        case 3:
            if (!controller_reset(&b->c, id, next_random(&seed) % 2, now, &b->err))
                CHECK(b->err.kind == ERR_NOT_FOUND || b->err.kind == ERR_CONFLICT);
            break;
        case 4:
            if (next_random(&seed) % 10 == 0) {
                random_faults(&faults, &seed);
                fail(b, &faults, now);
                check_undo = false;
            }
            break;
        case 5:
            check_undone(b, saved_state, check_undo);
            break;
        case 6:
            controller_saved(&b->c);
            mem_free(saved_state);
            saved_state = describe(b);
            check_undo = true;
            break;
        default:
            controller_step(&b->c, now);
            check_undo = false;
        }
        check_books(b);
        CONTROLLER_EACH (entry, &b->c)
            states[entry->partition.ready_state][entry->operation]++;
    }
    for (int64_t next = now; next >= 0; now = next >= 0 ? next : now)
        next = controller_step(&b->c, now);
    CONTROLLER_EACH (entry, &b->c)
        CHECK(!controller_partition_is_under_way(entry));
    CHECK(states[VIPU_READY_ERROR][VIPU_OPERATION_IDLE] && states[VIPU_READY_ERROR][VIPU_OPERATION_FAILED] &&
          states[VIPU_READY_REMOVED][VIPU_OPERATION_IDLE] &&
          states[VIPU_READY_PENDING][VIPU_OPERATION_RESETTING]);
    controller_set_faults(&b->c, NULL, now);
    while (b->c.count > 0) {
        CHECK_OK(controller_remove(&b->c, b->c.first->partition.id, true, now, &b->err), b->err);
        now += 100;
        controller_step(&b->c, now);
    }
    check_books(b);
    for (size_t i = 0; i < COUNT_OF(hardware); i++)
        mem_free(hardware[i].agent);
}

/* In place of what failed before. */
static void fail_hardware(struct bench *b, const char *agent, uint32_t ipu, uint32_t for_ms, int64_t now)
{
    mem_set_str(&b->broken.agent, agent);
    b->broken.ipu = ipu;
    b->broken.for_ms = for_ms;
    b->faults = (struct faults){.hardware = &b->broken, .hardware_count = 1};
    fail(b, &b->faults, now);
}

static void check_state(struct bench *b, const char *id, enum vipu_ready_state ready,
                        enum vipu_operation_state operation)
{
    CHECK_STR_EQ(vipu_ready_state_name(find(b, id)->partition.ready_state), vipu_ready_state_name(ready));
    CHECK_STR_EQ(vipu_operation_state_name(find(b, id)->operation), vipu_operation_state_name(operation));
}

#define QUICK "{create-ms: 0, remove-ms: 0, reset-ms: 10, auto-reset-ms: 0, clusters: [{id: a, agents: 4}]}"

TEST_F(bench, b, a_fault_is_mended_by_an_automatic_reset)
{
    set_up(b, QUICK);
    b->c.times.auto_reset_ms = 60;
    b->c.unix_offset_ms = 1000000;
    CHECK_OK(create(b, "p", 4, 0), b->err);
    CHECK_INT_EQ(controller_step(&b->c, 0), -1);
    fail_hardware(b, "ag1", FAULTS_ALWAYS, 100, 1000);
    check_state(b, "p", VIPU_READY_ERROR, VIPU_OPERATION_IDLE);
    CHECK_STR_EQ(find(b, "p")->errors.items[0], "agent ag1: not responding");
    CHECK_INT_EQ(controller_step(&b->c, 1000), 1060);
    CHECK_INT_EQ(controller_step(&b->c, 1060), 1070);
    check_state(b, "p", VIPU_READY_PENDING, VIPU_OPERATION_RESETTING);
    controller_step(&b->c, 1070);
    check_state(b, "p", VIPU_READY_ERROR, VIPU_OPERATION_IDLE);
    CHECK_INT_EQ(find(b, "p")->auto_resets, 1);
    controller_step(&b->c, 1130); /* the agent is back since 1100 */
    controller_step(&b->c, 1140);
    check_state(b, "p", VIPU_READY_ACTIVE, VIPU_OPERATION_IDLE);
    CHECK_INT_EQ(find(b, "p")->auto_resets, 2);
    CHECK_INT_EQ(find(b, "p")->last_auto_reset_unix_s, 1001);
    CHECK_INT_EQ(find(b, "p")->errors.count, 0);
}

/* On record: auto-reset can be disabled at creation; the status has errors, auto-reset retries, their
 * limit and the time of the last; reset forces a partition back to its initial state. */
TEST_F(bench, b, after_so_many_automatic_resets_it_stays_failed)
{
    set_up(b, QUICK);
    CHECK_OK(create(b, "p", 4, 0), b->err);
    CHECK_OK(create(b, "q", 4, 0), b->err);
    CHECK_OK(controller_create(&b->c,
                               &(struct vipu_requirements){.id = "r", .size = 2, .disable_auto_reset = true},
                               0, &b->problems, &b->err),
             b->err);
    controller_step(&b->c, 0);
    fail_hardware(b, "ag1", 0, FAULTS_ALWAYS, 0);
    for (int64_t now = 0; now >= 0;)
        now = controller_step(&b->c, now);
    check_state(b, "p", VIPU_READY_ERROR, VIPU_OPERATION_FAILED);
    CHECK_INT_EQ(find(b, "p")->auto_resets, 3);
    CHECK_STR_EQ(find(b, "p")->errors.items[0], "agent ag1: IPU 0: failed");
    check_state(b, "q", VIPU_READY_ACTIVE, VIPU_OPERATION_IDLE);
    fail_hardware(b, "ag3", 3, FAULTS_ALWAYS, 100);
    check_state(b, "r", VIPU_READY_ERROR, VIPU_OPERATION_FAILED); /* it may have none */
    check_state(b, "p", VIPU_READY_ERROR, VIPU_OPERATION_FAILED); /* until somebody resets it */
    CHECK_OK(controller_reset(&b->c, "p", false, 100, &b->err), b->err);
    CHECK_INT_EQ(find(b, "p")->auto_resets, 0);
    CHECK_INT_EQ(find(b, "p")->errors.count, 1);
    controller_step(&b->c, 110);
    check_state(b, "p", VIPU_READY_ACTIVE, VIPU_OPERATION_IDLE);
}

/* On record: a relocatable partition may be moved to other IPUs on errors, and a reset's flag overrides. */
TEST_F(bench, b, a_relocatable_partition_moves_to_ipus_that_work)
{
    struct vipu_requirements r = {.id = "p", .size = 4, .relocatable = true};

    set_up(b, QUICK);
    b->c.max_auto_reset_retries = 1;
    CHECK_OK(controller_create(&b->c, &r, 0, &b->problems, &b->err), b->err);
    controller_step(&b->c, 0);
    fail_hardware(b, "ag1", FAULTS_ALWAYS, FAULTS_ALWAYS, 0);
    CHECK_INT_EQ(controller_step(&b->c, 0), 10);
    CHECK_INT_EQ(find(b, "p")->partition.ipus[0].topology_id, 4);
    CHECK_OK(create(b, "q", 2, 5), b->err); /* not on ag1, and not where p is now */
    CHECK_INT_EQ(find(b, "q")->partition.ipus[0].topology_id, 8);
    controller_step(&b->c, 10);
    check_state(b, "p", VIPU_READY_ACTIVE, VIPU_OPERATION_IDLE);
    CHECK_INT_EQ(find(b, "p")->partition.ipus[3].topology_id, 7);
    /* Without the flag it stays; with the flag of the reset it goes. */
    fail_hardware(b, "ag3", FAULTS_ALWAYS, FAULTS_ALWAYS, 20);
    for (int64_t now = 20; now >= 0;)
        now = controller_step(&b->c, now);
    check_state(b, "q", VIPU_READY_ERROR, VIPU_OPERATION_FAILED);
    CHECK_INT_EQ(find(b, "q")->partition.ipus[0].topology_id, 8);
    CHECK_OK(controller_reset(&b->c, "q", true, 100, &b->err), b->err);
    controller_step(&b->c, 110);
    check_state(b, "q", VIPU_READY_ACTIVE, VIPU_OPERATION_IDLE);
    CHECK_INT_EQ(find(b, "q")->partition.ipus[0].topology_id, 0);
}

TEST_F(bench, b, operations_that_are_to_fail_do)
{
    struct fault_partition rules[] = {
        {.on = FAULT_CREATE, .count = {.times = 1, .chance = 100}, .error = mem_strdup("no power")},
        {.on = FAULT_RESET, .count = {.after = 1, .times = 1, .chance = 100}},
        {.on = FAULT_REMOVE, .count = {.times = FAULTS_ALWAYS, .chance = 100}},
    };
    struct faults faults = {.partitions = rules, .partition_count = COUNT_OF(rules)};

    set_up(b, QUICK);
    fail(b, &faults, 0);
    CHECK_OK(create(b, "p", 4, 0), b->err);
    check_state(b, "p", VIPU_READY_PENDING, VIPU_OPERATION_CREATING);
    controller_step(&b->c, 0);
    check_state(b, "p", VIPU_READY_ERROR, VIPU_OPERATION_FAILED);
    CHECK_STR_EQ(find(b, "p")->errors.items[0], "no power");
    for (int64_t now = 0; now < 40; now += 20) { /* the first reset is spared, the second is not */
        CHECK_OK(controller_reset(&b->c, "p", false, now, &b->err), b->err);
        controller_step(&b->c, now + 10);
        check_state(b, "p", now == 0 ? VIPU_READY_ACTIVE : VIPU_READY_ERROR,
                    now == 0 ? VIPU_OPERATION_IDLE : VIPU_OPERATION_FAILED);
    }
    CHECK_OK(controller_remove(&b->c, "p", false, 100, &b->err), b->err);
    controller_step(&b->c, 100);
    check_state(b, "p", VIPU_READY_ERROR, VIPU_OPERATION_FAILED);
    CHECK_HAS(find(b, "p")->errors.items[0], "remove it with force");
    b->c.times.removed_ms = 30;
    CHECK_OK(controller_remove(&b->c, "p", true, 200, &b->err), b->err);
    CHECK_INT_EQ(controller_step(&b->c, 200), 230);
    check_state(b, "p", VIPU_READY_REMOVED, VIPU_OPERATION_IDLE);
    CHECK_ERR(controller_reset(&b->c, "p", false, 201, &b->err), b->err, ERR_CONFLICT);
    CHECK_OK(controller_remove(&b->c, "p", false, 202, &b->err), b->err);
    CHECK_INT_EQ(controller_step(&b->c, 230), -1);
    CHECK(find(b, "p") == NULL);
    mem_free(rules[0].error);
}

TEST_F(bench, b, listed_ipus_that_do_not_work_fail_the_creation)
{
    struct vipu_ipu ipu = {0}; /* topology id 0 is IPU 3 of its board */
    struct vipu_requirements r = {.id = "p", .size = 1, .cluster_id = "a", .ipus = &ipu, .ipu_count = 1};

    set_up(b, QUICK);
    fail_hardware(b, "ag?", 3, FAULTS_ALWAYS, 0);
    CHECK_OK(controller_create(&b->c, &r, 0, &b->problems, &b->err), b->err);
    controller_step(&b->c, 0);
    check_state(b, "p", VIPU_READY_ERROR, VIPU_OPERATION_FAILED);
    CHECK_ERR(create(b, "q", 4, 0), b->err, ERR_BUSY); /* each machine has one that does not work */
    CHECK_OK(create(b, "q", 2, 0), b->err);
}

TEST_F(bench, b, a_controller_that_forgets)
{
    set_up(b, QUICK);
    CHECK_OK(create(b, "p", 4, 0), b->err);
    CHECK_OK(create(b, "q", 8, 0), b->err);
    controller_forget(&b->c);
    CHECK_INT_EQ(b->c.count, 0);
    CHECK_INT_EQ(b->c.removed.count, 2);
    CHECK_OK(create(b, "p", 16, 1), b->err);
}

static void fill(struct bench *b, unsigned from, unsigned count)
{
    for (unsigned i = from; i < count; i++) {
        AUTO(mem) char *id = mem_printf("p%u", i);
        CHECK_OK(create(b, id, 1, 0), b->err);
        if (i % 100 == 99) {
            controller_step(&b->c, 0);
            controller_saved(&b->c);
        }
    }
}

/* Microseconds of processor time for one partition that comes and goes. */
static double cost_of_change(struct bench *b)
{
    struct timespec begin, end;
    const int rounds = 2000;

    CHECK_INT_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin), 0);
    for (int i = 0; i < rounds; i++) {
        AUTO(mem) char *id = mem_printf("p%d", i % 500);

        CHECK_OK(controller_remove(&b->c, id, false, 0, &b->err), b->err);
        controller_saved(&b->c);
        controller_step(&b->c, 0);
        CHECK(controller_has_changes(&b->c));
        controller_saved(&b->c);
        CHECK_OK(create(b, id, 1, 0), b->err);
        controller_step(&b->c, 0);
        controller_saved(&b->c);
    }
    CHECK_INT_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end), 0);
    return ((double)(end.tv_sec - begin.tv_sec) * 1e6 + (double)(end.tv_nsec - begin.tv_nsec) / 1e3) / rounds;
}

/* Where it walked all partitions, 60,000 of them cost 60 times as much as 1,000. */
TEST_F(bench, b, a_change_costs_the_same_with_many_partitions)
{
    double few, many;

    set_up(b, "{create-ms: 0, remove-ms: 0, clusters: [{id: a, ipulink-domains: 1000}]}");
    fill(b, 0, 1000);
    few = cost_of_change(b);
    fill(b, 1000, 60000);
    many = cost_of_change(b);
    if (many > 10 * few + 10)
        CHECK_FAIL("%.1f us with 1,000 partitions, %.1f us with 60,000", few, many);
}

static struct controller_partition *saved(const char *id, uint32_t first)
{
    struct controller_partition *entry = NEW(struct controller_partition);

    entry->partition = (struct vipu_partition){.id = mem_strdup(id),
                                               .cluster_id = mem_strdup("a"),
                                               .size = 2,
                                               .ready_state = VIPU_READY_PENDING,
                                               .ipus = mem_alloc(2 * sizeof(struct vipu_ipu))};
    entry->partition.ipus[0].topology_id = first;
    entry->partition.ipus[1].topology_id = first + 1;
    entry->operation = VIPU_OPERATION_CREATING;
    entry->number = first + 1;
    return entry;
}

TEST_F(bench, b, what_was_saved_comes_back)
{
    set_up(b, "{create-ms: 10, clusters: [{id: a, agents: 4}]}");
    CHECK_OK(controller_restore_take(&b->c, saved("p1", 0), 100, &b->err), b->err);
    CHECK_ERR(controller_restore_take(&b->c, saved("p2", 1), 100, &b->err), b->err, ERR_INVALID);
    CHECK_HAS(b->err.msg, "IPUs of another partition");
    CHECK_ERR(controller_restore_take(&b->c, saved("p1", 8), 100, &b->err), b->err, ERR_INVALID);
    CHECK_OK(controller_restore_take(&b->c, saved("p3", 40), 100, &b->err),
             b->err); /* not in this pod any more */
    CHECK_INT_EQ(find(b, "p3")->operation, VIPU_OPERATION_FAILED);
    CHECK_ERR(controller_reset(&b->c, "p3", false, 100, &b->err), b->err, ERR_CONFLICT);
    CHECK_INT_EQ(controller_step(&b->c, 100), 110);
    controller_step(&b->c, 110);
    CHECK_INT_EQ(find(b, "p1")->partition.ready_state, VIPU_READY_ACTIVE);
    CHECK_OK(create(b, "p4", 2, 200), b->err);
    CHECK_INT_EQ(find(b, "p4")->number, 42);
    CHECK_OK(controller_remove(&b->c, "p3", false, 200, &b->err), b->err);
    controller_step(&b->c, 1000);
    CHECK(find(b, "p3") == NULL);
}

TEST_F(bench, b, an_allocation_that_went_elsewhere_takes_no_partition_along)
{
    struct controller_partition *entry = saved("p", 0);

    set_up(b, "{create-ms: 0, reset-ms: 0, auto-reset-retries: 0, clusters: [{id: a, agents: 2}, "
              "{id: b, agents: 2, allocations: [{id: x, agents: [ag3]}]}]}");
    entry->partition.allocation_id = mem_strdup("x");
    entry->partition.num_ilds = entry->partition.num_gcds = entry->partition.num_replicas = 1;
    CHECK_OK(controller_restore_take(&b->c, entry, 0, &b->err), b->err);
    controller_step(&b->c, 0);
    fail_hardware(b, "ag1", FAULTS_ALWAYS, FAULTS_ALWAYS, 0);
    CHECK_OK(controller_reset(&b->c, "p", true, 0, &b->err), b->err);
    controller_step(&b->c, 0);
    check_state(b, "p", VIPU_READY_ERROR, VIPU_OPERATION_FAILED);
    CHECK_INT_EQ(find(b, "p")->partition.ipus[0].topology_id, 0);
    CHECK(vipu_allocator_taken(&b->c.allocator, &b->config.clusters.items[0], 0) == 3);
    CHECK(vipu_allocator_taken(&b->c.allocator, &b->config.clusters.items[1], 0) == 0);
}

TEST(the_default_configuration)
{
    struct server_config config = server_config_default();
    const struct vipu_cluster *cluster = &config.clusters.items[0];

    CHECK_STR_EQ(config.listen, "127.0.0.1:8090"); /* other hosts connect only if a configuration says so */
    CHECK_INT_EQ(config.clusters.count, 1);
    CHECK_STR_EQ(cluster->id, "cl1");
    CHECK(cluster->torus);
    CHECK_INT_EQ(cluster->domain_count, 1);
    CHECK_INT_EQ(cluster->domains[0].machine_count, 16);
    CHECK_STR_EQ(cluster->domains[0].machines[15].name, "ag16");
    CHECK_STR_EQ(cluster->domains[0].machines[15].ipuof_ip, "10.1.5.25");
    CHECK_STR_EQ(cluster->allocations[0].id, "cl1");
    CHECK(cluster->allocations[0].usable[0] == UINT64_MAX);
    server_config_release(&config);
}
