#include "replay.h"

#include "lib/check.h"

/* The worked examples of docs/queue.md: two domains, A and B; times in minutes. */
#define A 0
#define B 1
#define MIN 60
#define NEVER FORECAST_UNKNOWN

static int64_t min(int64_t minutes)
{
    return minutes == NEVER ? NEVER : minutes * MIN;
}

struct scene {
    struct replay r;
};

static void scene_init(struct scene *s)
{
    replay_init(&s->r);
    replay_add_controller(&s->r, 2);
}

static void scene_release(struct scene *s)
{
    replay_release(&s->r);
}

static struct replay_job *runs(struct scene *s, uint32_t domain, uint32_t first, uint32_t size, int64_t end)
{
    return replay_add_running(&s->r, 0, 0, domain, first, size, min(end));
}

static struct replay_job *waits(struct scene *s, uint32_t size, int64_t bound)
{
    return replay_add_job(&s->r, 0, size, min(bound));
}

#define CHECK_STARTS(job, minute, in_domain, ipu) check_starts(CHECK_AT, job, minute, in_domain, ipu)

static void check_starts(struct check_at at, const struct replay_job *job, int64_t minute, uint32_t domain,
                         unsigned ipu)
{
    check_int_eq(at, "start in minutes", job->start_s == NEVER ? NEVER : job->start_s / MIN, minute);
    check_int_eq(at, "domain", job->block.domain, domain);
    check_int_eq(at, "first IPU", __builtin_ctzll(job->block.ipus), ipu);
}

TEST_F(scene, s, all_that_fits_starts)
{
    struct replay_job *j1 = waits(s, 64, 60), *j2 = waits(s, 32, 30), *j3 = waits(s, 32, 30);

    replay_plan(&s->r, 0);
    CHECK_STARTS(j1, 0, A, 0);
    CHECK_STARTS(j2, 0, B, 0);
    CHECK_STARTS(j3, 0, B, 32);
}

TEST_F(scene, s, a_short_job_passes_inside_the_reserved_block)
{
    struct replay_job *head, *j2, *j3;

    runs(s, A, 0, 64, 100);
    runs(s, B, 0, 32, 40);
    head = waits(s, 64, 60);
    j2 = waits(s, 32, 30);
    j3 = waits(s, 32, 120);
    replay_plan(&s->r, 0);
    CHECK_INT_EQ(replay_reservation(&s->r, head)->start_s, 40 * MIN);
    CHECK_INT_EQ(replay_reservation(&s->r, head)->block.domain, B);
    CHECK_INT_EQ(replay_verdict(&s->r, j3)->cause, FORECAST_NO_ROOM);
    replay_run(&s->r);
    CHECK_STARTS(j2, 0, B, 32);
    CHECK_STARTS(head, 40, B, 0);
    CHECK_STARTS(j3, 100, A, 0);
}

TEST_F(scene, s, strict_order_lets_nobody_pass)
{
    struct replay_job *head, *j2, *j3;

    s->r.controllers[0].policy = FORECAST_STRICT;
    runs(s, A, 0, 64, 100);
    runs(s, B, 0, 32, 40);
    head = waits(s, 64, 60);
    j2 = waits(s, 32, 30);
    j3 = waits(s, 32, 120);
    replay_plan(&s->r, 0);
    CHECK_INT_EQ(replay_verdict(&s->r, j2)->cause, FORECAST_ORDER);
    replay_run(&s->r);
    CHECK_STARTS(head, 40, B, 0);
    CHECK_STARTS(j2, 100, A, 0);
    CHECK_STARTS(j3, 100, A, 32);
}

TEST_F(scene, s, a_long_job_passes_outside_the_reserved_block)
{
    struct replay_job *head, *j2;

    runs(s, A, 0, 64, 50);
    runs(s, B, 0, 16, 200);
    head = waits(s, 64, 60);
    j2 = waits(s, 32, 500);
    replay_run(&s->r);
    CHECK_STARTS(j2, 0, B, 32);
    CHECK_STARTS(head, 50, A, 0);
}

TEST_F(scene, s, the_block_with_fewer_free_ipus_is_reserved)
{
    struct replay_job *head, *j2, *j3, *j4, *j5;

    runs(s, A, 0, 32, 60);
    runs(s, B, 0, 16, 60);
    head = waits(s, 64, 60);
    j2 = waits(s, 32, 200);
    j3 = waits(s, 16, 200);
    j4 = waits(s, 32, 200);
    j5 = waits(s, 32, 60);
    replay_run(&s->r);
    CHECK_STARTS(j2, 0, B, 32);
    CHECK_STARTS(j3, 0, B, 16);
    CHECK_STARTS(j5, 0, A, 32);
    CHECK_STARTS(head, 60, A, 0);
    CHECK_STARTS(j4, 120, A, 0);
}

TEST_F(scene, s, without_known_ends_the_block_with_the_youngest_occupant_is_reserved)
{
    struct replay_job *head, *j2, *j3;
    const struct forecast_reservation *r;

    runs(s, A, 0, 64, NEVER)->start_s = -10 * MIN;
    runs(s, B, 0, 32, NEVER)->start_s = -300 * MIN;
    head = waits(s, 64, NEVER);
    j2 = waits(s, 32, NEVER);
    j3 = waits(s, 32, 30);
    replay_plan(&s->r, 0);
    r = replay_reservation(&s->r, head);
    CHECK_INT_EQ(r->block.domain, A);
    CHECK(r->start_s == NEVER && r->is_open);
    CHECK_STARTS(j2, 0, B, 32);
    CHECK(j3->start_s == NEVER);
    while (!forecast_step(s->r.forecast, 1000))
        ;
    CHECK_INT_EQ(replay_verdict(&s->r, head)->basis, FORECAST_OPEN);
}

/* Scenario 6: an end that was promised and does not come. */
TEST_F(scene, s, a_late_end_moves_the_reservation_by_growing_steps)
{
    struct replay_job *late, *head, *j4;
    const struct forecast_reservation *r;

    runs(s, A, 0, 64, 100);
    late = runs(s, B, 0, 32, 40);
    late->run_s = min(60);
    head = waits(s, 64, 60);
    replay_plan(&s->r, 0);
    s->r.settings.max_slide_s = 0;
    replay_plan(&s->r, min(40));
    r = replay_reservation(&s->r, head);
    CHECK_INT_EQ(r->start_s, 41 * MIN);
    CHECK_INT_EQ(r->promise_s, 40 * MIN);
    j4 = replay_add_job(&s->r, min(41), 32, min(5));
    replay_plan(&s->r, min(41));
    CHECK_INT_EQ(replay_reservation(&s->r, head)->start_s, 46 * MIN);
    CHECK(replay_reservation(&s->r, head)->is_closed && j4->start_s == NEVER);
    s->r.settings.max_slide_s = 30 * MIN;
    replay_plan(&s->r, min(41));
    CHECK_STARTS(j4, 41, B, 32);
    replay_run(&s->r);
    CHECK_STARTS(head, 60, B, 0);
}

TEST_F(scene, s, a_reservation_spans_whole_domains)
{
    struct replay_job *head, *j2, *j3, *j4;

    runs(s, A, 0, 8, 90);
    runs(s, B, 0, 64, 20);
    head = waits(s, 128, 60);
    j2 = waits(s, 32, 80);
    j3 = waits(s, 32, 100);
    j4 = waits(s, 64, 60);
    replay_run(&s->r);
    CHECK_STARTS(j2, 0, A, 32);
    CHECK_STARTS(j4, 20, B, 0);
    CHECK_STARTS(head, 90, A, 0);
    CHECK_INT_EQ(head->block.domain_count, 2);
    CHECK_INT_EQ(j3->start_s, 150 * MIN);
}

TEST_F(scene, s, equal_blocks_are_served_in_order)
{
    struct replay_job *head, *j2, *j3;

    runs(s, A, 0, 64, 30);
    runs(s, B, 0, 64, 80);
    head = waits(s, 64, 60);
    j2 = waits(s, 64, 60);
    j3 = waits(s, 64, 10);
    replay_run(&s->r);
    CHECK_STARTS(head, 30, A, 0);
    CHECK_STARTS(j2, 80, B, 0);
    CHECK_STARTS(j3, 90, A, 0);
}

/* Scenario 11. */
static void check_shares(bool has_shares, int64_t guard_after_s, const int64_t starts[3])
{
    struct scene s;
    struct replay_job *jobs[3];

    scene_init(&s);
    s.r.namespaces[0].used_ipu_s = 10000 * MIN;
    s.r.namespace_count = 2;
    s.r.settings.has_shares = has_shares;
    s.r.settings.guard_after_s = guard_after_s;
    runs(&s, A, 0, 64, 100);
    for (int i = 0; i < 3; i++) {
        jobs[i] = waits(&s, 64, 50);
        jobs[i]->claim.ns = i == 2;
    }
    jobs[0]->claim.turn_s = -100;
    replay_run(&s.r);
    for (int i = 0; i < 3; i++)
        CHECK_INT_EQ(jobs[i]->start_s, min(starts[i]));
    scene_release(&s);
}

TEST(who_has_used_less_comes_first_if_shares_count)
{
    check_shares(false, NEVER, (const int64_t[]){0, 50, 100});
    check_shares(true, NEVER, (const int64_t[]){50, 100, 0});
    check_shares(true, 100, (const int64_t[]){0, 100, 50});
}

TEST(a_reservation_is_at_one_controller_only)
{
    struct scene s;
    struct replay_job *head, *j2, *j3;

    replay_init(&s.r);
    replay_add_controller(&s.r, 1);
    replay_add_controller(&s.r, 1);
    replay_add_running(&s.r, 0, 0, 0, 0, 32, min(100));
    replay_add_running(&s.r, 0, 1, 0, 0, 32, min(40));
    head = waits(&s, 64, 60);
    j2 = waits(&s, 32, 500);
    j3 = waits(&s, 32, 40);
    replay_plan(&s.r, 0);
    CHECK_INT_EQ(replay_reservation(&s.r, head)->controller, 1);
    CHECK_INT_EQ(replay_reservation(&s.r, head)->start_s, 40 * MIN);
    CHECK_INT_EQ(j2->controller, 0);
    CHECK_STARTS(j2, 0, 0, 32);
    CHECK_INT_EQ(j3->controller, 1);
    CHECK_STARTS(j3, 0, 0, 32);
    s.r.controllers[1].is_usable = false;
    replay_plan(&s.r, min(1));
    CHECK_INT_EQ(replay_reservation(&s.r, head)->controller, 0);
    CHECK_INT_EQ(replay_reservation(&s.r, head)->start_s, 500 * MIN);
    scene_release(&s);
}

/* The first in line waits for controller 1, where a job runs longer than it may; the second is promised
 * controller 0, which gets free early: then it is the first one's, whatever the second was promised. */
static bool displaces(int64_t bound)
{
    struct scene s;
    struct replay_job *early, *late, *second;
    bool is_displaced;

    replay_init(&s.r);
    replay_add_controller(&s.r, 1);
    replay_add_controller(&s.r, 1);
    early = replay_add_running(&s.r, 0, 0, 0, 0, 64, min(100));
    late = replay_add_running(&s.r, 0, 1, 0, 0, 64, min(40));
    late->run_s = NEVER;
    waits(&s, 64, bound);
    second = waits(&s, 64, 60);
    replay_plan(&s.r, 0);
    CHECK_INT_EQ(replay_reservation(&s.r, second)->promise_s, 100 * MIN);
    CHECK(!replay_reservation(&s.r, second)->is_displaced);
    early->run_s = min(50);
    replay_plan(&s.r, min(45));
    replay_plan(&s.r, min(50));
    CHECK_INT_EQ(replay_reservation(&s.r, second)->promise_s, 100 * MIN);
    is_displaced = replay_reservation(&s.r, second)->is_displaced;
    replay_plan(&s.r, min(51)); /* which is not forgotten */
    CHECK_INT_EQ(replay_reservation(&s.r, second)->is_displaced, is_displaced);
    scene_release(&s);
    return is_displaced;
}

TEST(a_claim_whose_promise_broke_may_take_the_block_of_a_later_one)
{
    CHECK(displaces(500));
    CHECK(!displaces(40)); /* it ends before the promised start */
}

TEST(a_start_that_an_overrun_has_moved_stays_known_as_such)
{
    struct scene s;
    struct replay_job *late, *head;

    replay_init(&s.r);
    replay_add_controller(&s.r, 1);
    late = replay_add_running(&s.r, 0, 0, 0, 0, 32, min(40));
    late->run_s = min(45);
    replay_add_running(&s.r, 0, 0, 0, 32, 32, min(30));
    head = waits(&s, 64, 60);
    for (int now = 0; now <= 44; now++) {
        replay_plan(&s.r, min(now));
        CHECK_INT_EQ(replay_reservation(&s.r, head)->promise_s, 40 * MIN);
        CHECK_INT_EQ(replay_reservation(&s.r, head)->is_overrun, now >= 40);
    }
    scene_release(&s);
}

/* ---- blocks whose time nobody knows ---- */

struct tenant {
    struct replay r;
    struct replay_job *own, *head;
};

/* One tenant has 1 IPU without a bound and waits for 64 on a machine of one domain. */
static void tenant_init(struct tenant *t)
{
    replay_init(&t->r);
    replay_add_controller(&t->r, 1);
    t->r.namespace_count = 2;
    t->own = replay_add_running(&t->r, 0, 0, 0, 0, 1, NEVER);
    t->head = replay_add_job(&t->r, 0, 64, min(60));
    t->own->claim.ns = t->head->claim.ns = 0;
}

static void tenant_release(struct tenant *t)
{
    replay_release(&t->r);
}

static struct replay_job *other_waits(struct tenant *t, int64_t arrives, uint32_t size, int64_t bound)
{
    struct replay_job *job = replay_add_job(&t->r, min(arrives), size, min(bound));

    job->claim.ns = 1;
    return job;
}

TEST_F(tenant, t, an_occupant_without_a_bound_does_not_close_the_machine)
{
    struct replay_job *other = other_waits(t, 0, 32, NEVER);

    replay_plan(&t->r, 0);
    CHECK_INT_EQ(other->start_s, 0);
    CHECK(replay_reservation(&t->r, t->head)->is_open);
}

TEST_F(tenant, t, least_of_all_one_of_the_heads_own_namespace)
{
    struct replay_job *others[2] = {other_waits(t, 1000, 16, NEVER), other_waits(t, 1001, 16, NEVER)};

    replay_plan(&t->r, min(999));
    for (int i = 0; i < 2; i++) { /* however long it has waited, and whoever came in meanwhile */
        replay_plan(&t->r, min(1000 + i));
        CHECK_INT_EQ(others[i]->start_s, (1000 + i) * MIN);
    }
}

TEST_F(tenant, t, small_jobs_do_not_keep_a_large_one_waiting_for_ever)
{
    struct replay_job *others[100];

    t->r.settings.close_after_s = 60 * MIN;
    t->own->run_s = min(10);        /* ends, though nobody knew when */
    for (int i = 0; i < 100; i++) { /* each for 100 minutes, one every 20 */
        others[i] = other_waits(t, i * 20, 8, NEVER);
        others[i]->run_s = min(100);
    }
    replay_run(&t->r);
    CHECK(t->head->start_s != NEVER);
    CHECK(t->head->start_s >= t->r.settings.close_after_s);
    CHECK(t->head->start_s <= t->r.settings.close_after_s + min(100));
    CHECK(others[99]->start_s != NEVER); /* and they start after it */
}

TEST_F(tenant, t, the_wait_before_a_reservation_does_not_close_its_block)
{
    struct replay_job *other = other_waits(t, 0, 32, NEVER);
    int64_t begin_s = 10 * t->r.settings.close_after_s;

    t->own->claim.ns = 1; /* nobody of the head's namespace is in its way */
    replay_plan(&t->r, begin_s);
    CHECK_INT_EQ(other->start_s, begin_s);
    CHECK_INT_EQ(replay_reservation(&t->r, t->head)->since_s, begin_s);
    other = other_waits(t, 0, 8, NEVER);
    replay_plan(&t->r, begin_s + t->r.settings.close_after_s - 1);
    CHECK_INT_EQ(other->start_s, begin_s + t->r.settings.close_after_s - 1);
    other = other_waits(t, 0, 8, NEVER);
    replay_plan(&t->r, begin_s + t->r.settings.close_after_s);
    CHECK(other->start_s == NEVER && replay_reservation(&t->r, t->head)->is_closed);
    CHECK_INT_EQ(replay_reservation(&t->r, t->head)->since_s, begin_s);
}

TEST_F(tenant, t, a_promise_that_an_estimate_broke_closes_a_block_late)
{
    const struct forecast_reservation *r;
    struct replay_job *other;

    t->r.controllers[0].policy = FORECAST_PREDICTED;
    t->own->claim.run = (struct forecast_quantiles){60, 150, 600};
    t->own->claim.bound_s = NEVER;
    replay_plan(&t->r, min(1));
    r = replay_reservation(&t->r, t->head);
    CHECK(r->promise_s != NEVER);
    other = other_waits(t, 2, 8, 1);
    replay_plan(&t->r, r->promise_s + t->r.settings.max_slide_s + 100);
    CHECK(other->start_s != NEVER && !replay_reservation(&t->r, t->head)->is_closed);
    other = other_waits(t, 2, 8, 1);
    replay_plan(&t->r, r->since_s + t->r.settings.close_after_s);
    CHECK(other->start_s == NEVER && replay_reservation(&t->r, t->head)->is_closed);
}

/* ---- many instances of one job ---- */

TEST_F(scene, s, instances_of_one_job_take_turns_with_other_jobs)
{
    struct forecast_controller *c = &s->r.controllers[0];
    struct forecast_claim claims[] = {
        {.uid = 1,
         .count = 10000,
         .eligible = 1,
         .ns = FORECAST_NONE,
         .size = 32,
         .bound_s = NEVER,
         .is_ready = true},
        {.uid = 2,
         .count = 2,
         .eligible = 1,
         .ns = FORECAST_NONE,
         .size = 32,
         .turn_s = 1,
         .bound_s = NEVER,
         .is_ready = true},
        {.uid = 3,
         .count = 1,
         .eligible = 1,
         .ns = FORECAST_NONE,
         .size = 32,
         .turn_s = 2,
         .bound_s = NEVER,
         .is_ready = true},
    };
    struct forecast_input input = {.now_s = 10,
                                   .controllers = c,
                                   .controller_count = 1,
                                   .claims = claims,
                                   .claim_count = 3,
                                   .settings = FORECAST_SETTINGS_DEFAULT};
    struct forecast *f = forecast_new(&input);
    const struct forecast_plan *plan = forecast_plan_of(f);

    check_plan(&input, plan);
    CHECK_INT_EQ(plan->start_count, 4);
    CHECK_INT_EQ(plan->starts[0].claim, 0);
    CHECK_INT_EQ(plan->starts[1].claim, 1);
    CHECK_INT_EQ(plan->starts[2].claim, 2);
    CHECK_INT_EQ(plan->starts[3].claim, 0);
    CHECK_INT_EQ(plan->starts[3].instance, 1);
    forecast_free(f);
}

/* ---- quotas ---- */

TEST_F(scene, s, who_is_over_quota_blocks_nobody)
{
    struct replay_job *over, *many, *other;

    s->r.namespaces[0].max_ipus = 32;
    s->r.namespaces[1].max_queued = 1;
    s->r.namespace_count = 2;
    s->r.controllers[0].policy = FORECAST_STRICT;
    runs(s, A, 0, 32, 10)->claim.ns = 0;
    over = waits(s, 32, 10);
    over->claim.ns = 0;
    other = waits(s, 64, 10);
    other->claim.ns = 1;
    many = waits(s, 1, 10);
    many->claim.ns = 1;
    replay_plan(&s->r, 0);
    CHECK_INT_EQ(replay_verdict(&s->r, over)->cause, FORECAST_IPU_QUOTA);
    CHECK_INT_EQ(replay_verdict(&s->r, over)->position, 0);
    CHECK_INT_EQ(replay_verdict(&s->r, many)->cause, FORECAST_QUEUE_QUOTA);
    CHECK_STARTS(other, 0, B, 0);
    replay_run(&s->r);
    CHECK_STARTS(over, 10, A, 0);
    CHECK_STARTS(many, 0, A, 32); /* as soon as the other one was in line no more */
}

/* ---- controllers ---- */

TEST_F(scene, s, counted_capacity_is_in_strict_order)
{
    struct replay_job *head, *next, *small;

    s->r.controllers[0] = (struct forecast_controller){
        .is_usable = true, .policy = FORECAST_BOUNDED, .ipus_per_domain = 64, .total_ipus = 128};
    runs(s, A, 0, 100, 10);
    head = waits(s, 64, 10);
    small = waits(s, 16, 5);
    next = replay_add_job(&s->r, min(10), 64, min(10));
    replay_plan(&s->r, 0);
    CHECK(replay_reservation(&s->r, head)->start_s == NEVER);
    CHECK_INT_EQ(replay_verdict(&s->r, small)->cause, FORECAST_ORDER);
    replay_run(&s->r);
    CHECK_INT_EQ(head->start_s, 10 * MIN);
    CHECK_INT_EQ(small->start_s, 10 * MIN);
    CHECK_INT_EQ(next->start_s, 15 * MIN);
}

TEST_F(scene, s, what_cannot_start_anywhere_says_why)
{
    static const struct {
        uint32_t size;
        uint64_t eligible;
        bool is_usable;
        enum forecast_cause cause;
    } ROWS[] = {
        {0, 1, true, FORECAST_TOO_LARGE},
        {3, 1, true, FORECAST_TOO_LARGE},
        {65, 1, true, FORECAST_TOO_LARGE},
        {96, 1, true, FORECAST_TOO_LARGE},
        {192, 1, true, FORECAST_TOO_LARGE},
        {UINT32_MAX, 1, true, FORECAST_TOO_LARGE},
        {(uint32_t)1 << 31, 1, true, FORECAST_TOO_LARGE},
        {1, 0, true, FORECAST_NO_CONTROLLER},
        {1, 2, true, FORECAST_NO_CONTROLLER},
        {1, 1, false, FORECAST_UNAVAILABLE},
        {128, 1, true, FORECAST_STARTS},
    };

    CHECK_ROWS (row, ROWS) {
        struct scene other;
        struct replay_job *job;

        scene_init(&other);
        other.r.controllers[0].is_usable = row->is_usable;
        job = waits(&other, row->size, 10);
        job->claim.eligible = row->eligible;
        replay_plan(&other.r, 0);
        CHECK_INT_EQ(replay_verdict(&other.r, job)->cause, row->cause);
        scene_release(&other);
    }
    (void)s;
}

TEST_F(scene, s, a_claim_that_is_not_ready_keeps_its_place)
{
    struct replay_job *first = waits(s, 128, 10), *second = waits(s, 1, 10);

    first->claim.is_ready = false;
    replay_plan(&s->r, 0);
    CHECK_INT_EQ(replay_verdict(&s->r, first)->cause, FORECAST_NOT_READY);
    CHECK(first->start_s == NEVER && second->start_s == NEVER);
}
