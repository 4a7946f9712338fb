#include "operator/pool/claims_plan.h"

#include "base/core/mem.h"
#include "base/core/str.h"
#include "lib/check.h"

#define MAX 16

/* A verdict, and its words. */
struct told {
    int controller; /* of the last instance that is granted; -1: none is */
    struct claim_wait wait;
};

/* Controllers and claims of one case. A pool of one 64-IPU domain unless said otherwise. */
struct scene {
    struct vipu_pool_view pools[MAX];
    struct claims_controller controllers[MAX];
    size_t controller_count;
    struct claim claims[MAX];
    struct claim_verdict decided[MAX];
    struct told verdicts[MAX];
    size_t claim_count;
    struct queue_limits limits;
    struct namespace_numbers quotas, instance_quotas, weights;
    struct usage usage;
    struct map held; /* namespace -> IPUs */
    int64_t now_s;
    struct forecast_settings settings;
    struct claims_grants grants;
    struct claims_plan *plan;
};

static void scene_init(struct scene *s)
{
    *s = (struct scene){0};
}

static void scene_release(struct scene *s)
{
    for (size_t i = 0; i < s->controller_count; i++)
        vipu_pool_view_release(&s->pools[i]);
    for (size_t i = 0; i < s->claim_count; i++)
        claim_wait_release(&s->verdicts[i].wait);
    claims_grants_release(&s->grants);
    claims_plan_free(s->plan);
    namespace_numbers_release(&s->quotas);
    namespace_numbers_release(&s->instance_quotas);
    namespace_numbers_release(&s->weights);
    map_release(&s->held);
}

DEFINE_AUTO(scene);

/* `taken` holds sizes, 0 ends them. */
static struct claims_controller *add_controller(struct scene *s, const char *name, uint32_t total,
                                                const uint32_t *taken)
{
    struct vipu_partitions none = {0};
    size_t i = s->controller_count++;

    s->pools[i] = vipu_pool_view_of(&none, (struct vipu_pool_shape){.total_ipus = total});
    for (; taken && *taken; taken++)
        CHECK(vipu_pool_reserve(&s->pools[i], *taken));
    s->controllers[i] =
        (struct claims_controller){.name = name, .is_known = true, .has_nodes = true, .pool = &s->pools[i]};
    return &s->controllers[i];
}

static void hold(struct claims_controller *c, const struct claims_holder *holders, size_t count)
{
    c->holders = holders;
    c->holder_count = count;
}

static struct claim *add_claim(struct scene *s, const char *job, int64_t turn_s, uint32_t size)
{
    struct claim *claim = &s->claims[s->claim_count++];

    *claim = (struct claim){.job = job,
                            .uid = job,
                            .count = 1,
                            .turn_s = turn_s,
                            .size = size,
                            .bound_s = FORECAST_UNKNOWN,
                            .is_ready = true};
    return claim;
}

static struct claims_view view_of(const struct scene *s)
{
    return (struct claims_view){.controllers = s->controllers,
                                .controller_count = s->controller_count,
                                .limits = s->limits,
                                .quotas = s->quotas.of.count ? &s->quotas : NULL,
                                .held = &s->held,
                                .instance_quotas = s->instance_quotas.of.count ? &s->instance_quotas : NULL,
                                .weights = &s->weights,
                                .usage = &s->usage,
                                .now_s = s->now_s,
                                .settings = s->settings};
}

static void decide(struct scene *s)
{
    struct claims_view view = view_of(s);

    s->plan = claims_decide(&view, s->claims, s->claim_count, s->decided, &s->grants);
    for (size_t i = 0; i < s->claim_count; i++) {
        s->verdicts[i].controller = -1;
        claims_explain(&view, claims_basis(&view), &s->claims[i], &s->decided[i], &s->verdicts[i].wait);
    }
    for (size_t i = 0; i < s->grants.count; i++)
        s->verdicts[s->grants.items[i].claim].controller = (int)s->grants.items[i].controller;
}

static const struct told *verdict_of(const struct scene *s, const char *job)
{
    for (size_t i = 0; i < s->claim_count; i++) {
        if (str_eq(s->claims[i].job, job))
            return &s->verdicts[i];
    }
    CHECK_FAIL("no claim of %s", job);
}

static void check_granted(const struct scene *s, const char *job, int controller)
{
    const struct told *verdict = verdict_of(s, job);

    if (verdict->controller != controller)
        CHECK_FAIL("%s: controller %d, not %d: %s", job, verdict->controller, controller,
                   verdict->wait.text ? verdict->wait.text : "");
    CHECK(!verdict->wait.reason && !verdict->wait.text);
}

static void check_waits(const struct scene *s, const char *job, const char *reason, const char *text)
{
    const struct told *verdict = verdict_of(s, job);

    CHECK_INT_EQ(verdict->controller, -1);
    CHECK_STR_EQ(verdict->wait.reason, reason);
    CHECK_STR_EQ(verdict->wait.text, text);
}

/* ---- first come, first served ---- */

TEST_F(scene, s, the_oldest_comes_first)
{
    add_controller(s, "a:8090", 64, NULL);
    add_claim(s, "ns/young", 200, 32);
    add_claim(s, "ns/old", 100, 64);
    decide(s);
    CHECK_STR_EQ(s->claims[0].job, "ns/old");
    check_granted(s, "ns/old", 0);
    check_waits(
        s, "ns/young", "InsufficientIPUs",
        "Waiting for 32 IPUs: V-IPU controller a:8090 has 0 of 64 IPUs free, no free block of this size; "
        "64 IPUs just granted to jobs ahead in the queue");
}

TEST_F(scene, s, a_cordoned_controller_grants_nothing_and_nobody_is_blamed)
{
    const struct claims_holder holder = {.job = "ns/holder", .partition = "p", .size = 4};

    hold(add_controller(s, "a:8090", 64, (const uint32_t[]){4, 0}), &holder, 1);
    add_controller(s, "b:8090", 0, NULL); /* of unknown size */
    vipu_pool_cordon(&s->pools[0]);
    vipu_pool_cordon(&s->pools[1]);
    add_claim(s, "ns/young", 100, 8);
    decide(s);
    check_waits(
        s, "ns/young", "InsufficientIPUs",
        "Waiting for 8 IPUs: V-IPU controller a:8090 has 0 of 64 IPUs free, no free block of this size; "
        "an admin has cordoned the controller for maintenance");
}

TEST_F(scene, s, a_cordoned_domain_is_named_beside_the_holders)
{
    const struct claims_holder holder = {.job = "ns/holder", .partition = "p", .size = 4};
    struct vipu_pool_domain first;

    hold(add_controller(s, "a:8090", 128, NULL), &holder, 1);
    CHECK(vipu_pool_next_domain(&s->pools[0], &(size_t){0}, &first));
    vipu_pool_cordon_domain(&s->pools[0], &first);
    CHECK(vipu_pool_reserve(&s->pools[0], 4));
    add_claim(s, "ns/young", 100, 64);
    decide(s);
    check_waits(s, "ns/young", "InsufficientIPUs",
                "Waiting for 64 IPUs: V-IPU controller a:8090 has 60 of 128 IPUs free, no free block of this "
                "size; an admin has cordoned 64 IPUs for maintenance; in use by ns/holder (4 IPUs)");
}

TEST_F(scene, s, equal_ages_are_distinguished_by_uid)
{
    add_controller(s, "a:8090", 64, NULL);
    add_claim(s, "b", 1, 64);
    add_claim(s, "a", 1, 64)->count = 2;
    decide(s);
    CHECK_STR_EQ(s->claims[0].job, "a");
    CHECK_STR_EQ(s->claims[1].job, "b");
    CHECK_INT_EQ(s->decided[0].granted, 1);
    CHECK_INT_EQ(s->decided[1].granted, 0);
}

/* ---- the instances of a job ---- */

TEST_F(scene, s, as_many_instances_are_granted_as_there_is_room_for)
{
    add_controller(s, "a:1", 16, NULL);
    add_controller(s, "b:1", 64, NULL);
    add_claim(s, "ns/many", 1, 8)->count = 10000;
    add_claim(s, "ns/behind", 2, 8)->count = 3;
    decide(s);
    CHECK_INT_EQ(s->decided[0].granted, 7);
    CHECK_INT_EQ(s->decided[1].granted, 3);
    CHECK_INT_EQ(s->grants.count, 10);
    for (size_t i = 0; i < s->grants.count; i++)
        CHECK_INT_EQ(s->grants.items[i].controller, i != 0 && i != 7);
    CHECK_INT_EQ(verdict_of(s, "ns/many")->wait.position, 1);
    CHECK_STR_EQ(
        verdict_of(s, "ns/many")->wait.text,
        "Waiting for 8 IPUs: V-IPU controller a:1 has 0 of 16 IPUs free, no free block of this size; "
        "16 IPUs just granted to jobs ahead in the queue");
}

TEST_F(scene, s, instances_of_jobs_take_turns)
{
    add_controller(s, "a:1", 64, NULL);
    add_claim(s, "ns/first", 1, 16)->count = 10000;
    add_claim(s, "ns/second", 2, 16)->count = 10000;
    add_claim(s, "ns/third", 3, 16);
    decide(s);
    CHECK_INT_EQ(s->decided[0].granted, 2);
    CHECK_INT_EQ(s->decided[1].granted, 1);
    CHECK_INT_EQ(s->decided[2].granted, 1);
}

TEST_F(scene, s, all_instances_of_higher_priority_are_ahead_and_one_of_each_other_job)
{
    add_controller(s, "a:1", 64, (const uint32_t[]){64, 0});
    add_claim(s, "ns/first", 1, 1)->count = 5;
    s->claims[0].priority = 1;
    add_claim(s, "ns/second", 2, 1)->count = 4;
    add_claim(s, "ns/third", 3, 1)->count = 1000;
    decide(s);
    CHECK_INT_EQ(verdict_of(s, "ns/first")->wait.position, 1);
    CHECK_INT_EQ(verdict_of(s, "ns/second")->wait.position, 6);
    check_waits(s, "ns/third", "Queued",
                "Waiting for 1 IPU: V-IPU controller a:1 has 0 of 64 IPUs free, no free block of this size; "
                "6 instances ahead in the queue, the first is ns/first");
}

/* Each of them is a request that may be rejected. */
TEST_F(scene, s, a_controller_that_does_not_report_its_size_gets_some_requests_at_a_time)
{
    add_controller(s, "a:1", 0, NULL)->unlisted = 4;
    add_claim(s, "ns/many", 1, 8)->count = 10000;
    decide(s);
    CHECK_INT_EQ(s->decided[0].granted, CLAIMS_BLIND_GRANTS - 4);
    CHECK_STR_EQ(verdict_of(s, "ns/many")->wait.text,
                 "Waiting for 8 IPUs: V-IPU controller a:1 does not report how many IPUs it has, and creates "
                 "at most 64 partitions at a time");
}

/* ---- limits ---- */

TEST_F(scene, s, no_more_instances_wait_than_may)
{
    s->limits = (struct queue_limits){.per_namespace = 10, .total = 15};
    add_controller(s, "a:1", 8, NULL);
    add_claim(s, "one/runs", 1, 1)->count = 8; /* granted ones do not wait */
    s->claims[0].priority = 1;
    add_claim(s, "one/waits", 2, 1)->count = 9;
    add_claim(s, "one/partly", 3, 1)->count = 9;
    add_claim(s, "one/too-many", 4, 1);
    add_claim(s, "other/waits", 5, 1)->count = 3;
    add_claim(s, "third/waits", 6, 1)->count = 2;
    add_claim(s, "third/too-many", 7, 1);
    decide(s);
    CHECK_INT_EQ(verdict_of(s, "one/partly")->wait.position, 2);
    check_waits(
        s, "one/too-many", "QueueFull",
        "Waiting for 1 IPU: not in the queue yet, because namespace one has 10 waiting instances, the "
        "limit; reduce spec.jobInstances of jobs that wait, delete some, or set "
        "queue.maxWaitingInstancesPerNamespace in the chart's values");
    CHECK_INT_EQ(verdict_of(s, "other/waits")->wait.position, 3);
    CHECK_INT_EQ(verdict_of(s, "third/waits")->wait.position, 4);
    check_waits(s, "third/too-many", "QueueFull",
                "Waiting for 1 IPU: not in the queue yet, because the cluster has 15 waiting instances, the "
                "limit; reduce spec.jobInstances of jobs that wait, delete some, or set "
                "queue.maxWaitingInstances in the chart's values");
}

/* One of a long queue, of which a look sees the first jobs only. */
TEST_F(scene, s, who_has_no_place_because_of_others_unseen_blocks_nobody)
{
    s->limits = (struct queue_limits){.total = 1000};
    add_controller(s, "a:1", 8, (uint32_t[]){4, 0});
    add_claim(s, "one/full", 1, 8)->full = CLAIM_QUEUE_IS_FULL;
    add_claim(s, "one/starts", 2, 4);
    decide(s);
    CHECK_INT_EQ(verdict_of(s, "one/starts")->controller, 0);
    check_waits(s, "one/full", "QueueFull",
                "Waiting for 8 IPUs: not in the queue yet, because the cluster has 1000 waiting instances, "
                "the limit; reduce spec.jobInstances of jobs that wait, delete some, or set "
                "queue.maxWaitingInstances in the chart's values");
}

/* ---- quotas ---- */

static void read_numbers(const char *text, struct namespace_numbers *ret)
{
    AUTO(strv) struct strv problems = {0};

    namespace_numbers_read(text, "numbers", ret, &problems);
    CHECK_INT_EQ(problems.count, 0);
}

static void set_quotas(struct scene *s, const char *quotas)
{
    read_numbers(quotas, &s->quotas);
}

TEST_F(scene, s, who_is_over_quota_is_not_in_the_queue)
{
    set_quotas(s, "a=16,*=32,free=0");
    map_set(&s->held, "a", (void *)(uintptr_t)8); /* IPUs whose place nobody knows */
    s->settings.depth = 1;
    add_controller(s, "v:1", 64, (const uint32_t[]){8, 0})->policy = FORECAST_STRICT;
    add_claim(s, "a/large", 1, 32);
    add_claim(s, "a/starts", 2, 8);
    add_claim(s, "a/waits", 3, 1);
    add_claim(s, "b/starts", 4, 32);
    add_claim(s, "free/first", 5, 64);
    add_claim(s, "c/second", 6, 16);
    decide(s);
    check_waits(s, "a/large", "IPUQuotaExceeded",
                "Waiting for 32 IPUs: namespace a may hold 16 IPUs; create a new job with a smaller "
                "ipusPerJobInstance, or ask an admin to raise queue.quotas in the chart's values");
    check_granted(s, "a/starts", 0);
    check_waits(s, "a/waits", "IPUQuotaExceeded",
                "Waiting for 1 IPU: namespace a holds 16 of its quota of 16 IPUs; it starts when jobs of the "
                "namespace have ended");
    check_granted(s, "b/starts", 0);
    CHECK_INT_EQ(verdict_of(s, "free/first")->wait.position, 1);
    CHECK_INT_EQ(verdict_of(s, "c/second")->wait.position, 2);
}

TEST_F(scene, s, what_is_kept_for_a_job_counts_in_its_quota)
{
    struct claims_running running = {.job = "a/runs",
                                     .uid = "a/runs",
                                     .place = {.domain_count = 1, .ipus = 0xffff},
                                     .size = 16,
                                     .end_s = FORECAST_UNKNOWN};
    struct claims_controller *c;

    set_quotas(s, "a=32");
    map_set(&s->held, "a", (void *)(uintptr_t)16);
    s->settings.depth = 1;
    c = add_controller(s, "v:1", 64, (const uint32_t[]){16, 32, 0});
    c->running = &running;
    c->running_count = 1;
    add_claim(s, "b/first", 1, 16);
    add_claim(s, "a/kept", 2, 16);
    add_claim(s, "a/waits", 3, 1);
    decide(s);
    check_granted(s, "b/first", 0);
    CHECK_STR_EQ(verdict_of(s, "a/kept")->wait.reason, "InsufficientIPUs");
    check_waits(s, "a/waits", "IPUQuotaExceeded",
                "Waiting for 1 IPU: namespace a holds 16 of its quota of 32 IPUs, and 16 are kept for its "
                "jobs ahead; it starts when jobs of the namespace have ended");
}

/* A report is made again if its numbers have changed, and only then. */
TEST_F(scene, s, a_report_about_a_quota_is_current_while_its_numbers_are)
{
    struct claims_view view;
    struct claim_wait *wait;

    set_quotas(s, "a=8");
    map_set(&s->held, "a", (void *)(uintptr_t)8);
    add_controller(s, "v:1", 64, NULL);
    add_claim(s, "a/waits", 1, 1);
    decide(s);
    view = view_of(s);
    wait = &s->verdicts[0].wait;
    CHECK(claims_report_is_current(&view, claims_basis(&view), &s->claims[0], &s->decided[0], wait));
    s->decided[0].held_ipus++;
    CHECK(!claims_report_is_current(&view, claims_basis(&view), &s->claims[0], &s->decided[0], wait));
}

/* By priority, then age, whichever job they are of; the other instances of a job wait outside. */
TEST_F(scene, s, the_first_instances_of_a_namespace_are_in_the_queue)
{
    read_numbers("a=3,*=1,free=0", &s->instance_quotas);
    s->settings.depth = 1;
    add_controller(s, "v:1", 64, (const uint32_t[]){64, 0})->policy = FORECAST_STRICT;
    add_claim(s, "a/older", 1, 1)->count = 2;
    add_claim(s, "a/last", 2, 1);
    add_claim(s, "a/urgent", 3, 1)->priority = 1;
    add_claim(s, "b/first", 4, 1)->count = 5;
    add_claim(s, "b/second", 5, 1);
    add_claim(s, "free/many", 6, 1)->count = 9;
    add_claim(s, "free/behind", 7, 1);
    decide(s);
    CHECK_INT_EQ(verdict_of(s, "a/urgent")->wait.position, 1);
    CHECK_INT_EQ(verdict_of(s, "a/older")->wait.position, 2);
    check_waits(s, "a/last", "QueueQuotaExceeded",
                "Waiting for 1 IPU: not in the queue yet, because namespace a has 3 instances there, its "
                "quota; it enters when others of the namespace have started");
    CHECK_INT_EQ(verdict_of(s, "b/first")->wait.position, 3);
    check_waits(s, "b/second", "QueueQuotaExceeded",
                "Waiting for 1 IPU: not in the queue yet, because namespace b has 1 instance there, its "
                "quota; it enters when others of the namespace have started");
    CHECK_INT_EQ(verdict_of(s, "free/many")->wait.position, 4);
    CHECK_INT_EQ(verdict_of(s, "free/behind")->wait.position, 5);
}

/* Those of higher priority that are not in the queue are ahead of nobody. */
TEST_F(scene, s, who_is_outside_the_queue_is_not_counted_in_it)
{
    read_numbers("a=2", &s->instance_quotas);
    s->settings.depth = 1;
    add_controller(s, "v:1", 64, (const uint32_t[]){64, 0});
    add_claim(s, "a/crowd", 1, 1)->count = 1000;
    s->claims[0].priority = 1;
    add_claim(s, "b/waits", 2, 1);
    decide(s);
    CHECK_INT_EQ(verdict_of(s, "b/waits")->wait.position, 3);
}

TEST_F(scene, s, who_enters_the_queue_gets_ipus_when_others_have_theirs)
{
    read_numbers("a=1", &s->instance_quotas);
    s->settings.depth = 1;
    add_controller(s, "v:1", 64, NULL);
    add_claim(s, "a/first", 1, 32);
    add_claim(s, "a/second", 2, 32);
    decide(s);
    check_granted(s, "a/first", 0);
    CHECK_STR_EQ(verdict_of(s, "a/second")->wait.reason, "QueueQuotaExceeded");
    for (size_t i = 0; i < s->claim_count; i++)
        claim_wait_release(&s->verdicts[i].wait);
    claims_plan_free(s->plan);
    s->claims[0] = s->claims[1]; /* the first one has its partition */
    s->claim_count = 1;
    decide(s);
    check_granted(s, "a/second", 0);
}

/* It would close the queue to smaller jobs of its namespace. */
TEST_F(scene, s, who_exceeds_the_quota_of_ipus_takes_no_place_in_the_queue)
{
    set_quotas(s, "a=32");
    map_set(&s->held, "a", (void *)(uintptr_t)16);
    read_numbers("a=1", &s->instance_quotas);
    s->settings.depth = 1;
    add_controller(s, "v:1", 64, NULL);
    add_claim(s, "a/large", 1, 32);
    add_claim(s, "a/small", 2, 16);
    decide(s);
    CHECK_STR_EQ(verdict_of(s, "a/large")->wait.reason, "IPUQuotaExceeded");
    check_granted(s, "a/small", 0);
}

/* ---- shares ---- */

static void share(struct scene *s, const char *weights)
{
    s->settings.has_shares = true;
    s->settings.guard_after_s = FORECAST_UNKNOWN;
    s->settings.depth = 1;
    s->usage.half_life_s = 86400;
    read_numbers(weights, &s->weights);
    add_controller(s, "v:1", 64, (const uint32_t[]){32, 32, 0});
    add_claim(s, "a/older", 1, 32);
    add_claim(s, "b/younger", 2, 32);
}

static void check_first(struct scene *s, const char *first, const char *second)
{
    decide(s);
    CHECK_INT_EQ(verdict_of(s, first)->wait.position, 1);
    CHECK_STR_EQ(verdict_of(s, first)->wait.reason, "InsufficientIPUs");
    CHECK_INT_EQ(verdict_of(s, second)->wait.position, 2);
    CHECK_STR_EQ(verdict_of(s, second)->wait.blockers.items[0], first);
}

TEST_F(scene, s, who_has_used_less_comes_first)
{
    share(s, "");
    usage_note(&s->usage, "a", 64, 86400, 0);
    usage_note(&s->usage, "b", 1, 86400, 0);
    check_first(s, "b/younger", "a/older");
}

TEST_F(scene, s, who_has_a_greater_weight_may_use_more)
{
    share(s, "a=100,*=1");
    usage_note(&s->usage, "a", 64, 86400, 0);
    usage_note(&s->usage, "b", 1, 86400, 0);
    check_first(s, "a/older", "b/younger");
}

static void run_of_a(struct scene *s, struct claims_running *running)
{
    *running = (struct claims_running){.job = "a/runs",
                                       .uid = "a/runs",
                                       .place = {.domain_count = 1, .ipus = 0xffffffff},
                                       .size = 32,
                                       .end_s = FORECAST_UNKNOWN};
    share(s, "");
    s->controllers[0].running = running;
    s->controllers[0].running_count = 1;
}

TEST_F(scene, s, what_runs_counts_from_its_start)
{
    struct claims_running running;

    run_of_a(s, &running);
    check_first(s, "b/younger", "a/older");
}

TEST_F(scene, s, what_counts_as_usage_is_not_charged_once_more)
{
    struct claims_running running;

    run_of_a(s, &running);
    running.is_accounted = true;
    check_first(s, "a/older", "b/younger");
}

TEST_F(scene, s, who_has_waited_long_is_guarded)
{
    share(s, "");
    usage_note(&s->usage, "a", 64, 86400, 0);
    s->settings.guard_after_s = 60;
    s->now_s = 61;
    check_first(s, "a/older", "b/younger");
}

TEST_F(scene, s, who_may_not_wait_is_served_if_nobody_has_to_wait)
{
    static const bool only_a[] = {true, false};

    s->limits.per_namespace = 1;
    add_controller(s, "a:1", 64, (const uint32_t[]){64, 0});
    add_controller(s, "b:1", 64, NULL);
    add_claim(s, "ns/waits", 1, 64)->eligible = only_a;
    add_claim(s, "ns/other", 2, 64);
    decide(s);
    check_granted(s, "ns/other", 1);
}

/* ---- age ---- */

TEST_F(scene, s, within_a_second_who_was_heard_of_first_is_first)
{
    add_controller(s, "a:8090", 64, NULL);
    add_claim(s, "a", 1, 64)->arrival = 8;
    add_claim(s, "b", 1, 64)->arrival = 7;
    decide(s);
    check_granted(s, "b", 0);
    CHECK_STR_EQ(s->claims[0].job, "b");
}

TEST_F(scene, s, nothing_passes_the_head)
{
    static const struct claims_holder first = {.job = "ns/first", .partition = "p-first", .size = 32};

    hold(add_controller(s, "a:8090", 64, (const uint32_t[]){32, 0}), &first, 1);
    add_claim(s, "ns/large", 1, 64);
    add_claim(s, "ns/small", 2, 1);
    add_claim(s, "ns/tiny", 3, 1);
    decide(s);
    check_waits(
        s, "ns/large", "InsufficientIPUs",
        "Waiting for 64 IPUs: V-IPU controller a:8090 has 32 of 64 IPUs free, no free block of this size; "
        "in use by ns/first (32 IPUs)");
    check_waits(
        s, "ns/small", "Queued",
        "Waiting for 1 IPU: V-IPU controller a:8090 has 32 of 64 IPUs free, enough for 32 partitions of "
        "this size; 1 instance ahead in the queue, the first is ns/large");
    check_waits(
        s, "ns/tiny", "Queued",
        "Waiting for 1 IPU: V-IPU controller a:8090 has 32 of 64 IPUs free, enough for 32 partitions of "
        "this size; 2 instances ahead in the queue, the first is ns/large");
    CHECK_INT_EQ(verdict_of(s, "ns/large")->wait.position, 1);
    CHECK_STR_EQ(verdict_of(s, "ns/large")->wait.blockers.items[0], "ns/first");
    CHECK_INT_EQ(verdict_of(s, "ns/tiny")->wait.position, 3);
    CHECK_STR_EQ(verdict_of(s, "ns/tiny")->wait.blockers.items[0], "ns/large");
    CHECK_INT_EQ(verdict_of(s, "ns/tiny")->wait.fitting_partitions, 32);
}

TEST_F(scene, s, four_of_those_in_the_way_are_named)
{
    static const struct claims_holder holders[] = {
        {.partition = "other", .size = 32},
        {.job = "ns/a", .partition = "p-a", .size = 16},
        {.job = "ns/b", .partition = "p-b", .size = 8},
        {.job = "ns/c", .partition = "p-c", .size = 4},
        {.job = "ns/d", .partition = "p-d", .size = 2},
        {.job = "ns/e", .partition = "p-e", .size = 1},
    };

    hold(add_controller(s, "a:8090", 64, (const uint32_t[]){32, 16, 8, 4, 2, 1, 0}), holders,
         COUNT_OF(holders));
    add_claim(s, "ns/one", 1, 32);
    decide(s);
    check_waits(
        s, "ns/one", "InsufficientIPUs",
        "Waiting for 32 IPUs: V-IPU controller a:8090 has 1 of 64 IPUs free, no free block of this size; in "
        "use by "
        "foreign partition other (32 IPUs), ns/a (16 IPUs), ns/b (8 IPUs), ns/c (4 IPUs) and 2 others");
    CHECK_INT_EQ(verdict_of(s, "ns/one")->wait.blockers.count, CLAIMS_BLOCKERS);
}

TEST_F(scene, s, priority_goes_before_age)
{
    add_controller(s, "a:8090", 64, NULL);
    add_claim(s, "ns/old", 1, 64);
    add_claim(s, "ns/urgent", 2, 64)->priority = 1000;
    add_claim(s, "ns/whenever", 0, 64)->priority = -10;
    decide(s);
    check_granted(s, "ns/urgent", 0);
    CHECK_STR_EQ(s->claims[1].job, "ns/old");
    CHECK_STR_EQ(s->claims[2].job, "ns/whenever");
}

/* Its sentence says nothing that changes with every step of the line. */
TEST_F(scene, s, a_job_far_back_in_the_queue_gets_a_short_message)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"};

    add_controller(s, "a:1", 64, (const uint32_t[]){64, 0});
    for (size_t i = 0; i < COUNT_OF(names); i++)
        add_claim(s, names[i], (int64_t)i, 1);
    decide(s);
    CHECK_INT_EQ(verdict_of(s, "j")->wait.position, 10);
    check_waits(s, "k", "Queued",
                "Waiting for 1 IPU: 10 or more instances ahead in the queue of V-IPU controller a:1; the "
                "operator's /queue "
                "endpoint lists them");
    CHECK_INT_EQ(verdict_of(s, "k")->wait.blockers.count, 0);
}

static bool is_told(const struct scene *s, const char *job, const struct claim_wait *told)
{
    size_t i = (size_t)(verdict_of(s, job) - s->verdicts);
    struct claims_view view = view_of(s);

    return claims_report_is_current(&view, claims_basis(&view), &s->claims[i], &s->decided[i], told);
}

TEST_F(scene, s, only_a_job_that_stays_far_back_at_the_same_controller_keeps_its_message)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    struct claim_wait other;

    add_controller(s, "a:1", 64, (const uint32_t[]){64, 0});
    for (size_t i = 0; i < COUNT_OF(names); i++)
        add_claim(s, names[i], (int64_t)i, 1);
    decide(s);
    other = verdict_of(s, "k")->wait;
    CHECK(is_told(s, "k", &other));
    CHECK(is_told(s, "l", &other)); /* another place, in the same words */
    CHECK(!is_told(s, "a", &verdict_of(s, "a")->wait));
    CHECK(!is_told(s, "j", &verdict_of(s, "j")->wait));
    CHECK(!is_told(s, "k", &verdict_of(s, "j")->wait));
    CHECK(!is_told(s, "k", &(struct claim_wait){0}));
    other.size = 2;
    CHECK(!is_told(s, "k", &other));
    other.size = 1;
    other.controller = (char[]){"b:1"};
    CHECK(!is_told(s, "k", &other));
}

/* Thousands of jobs may wait for the same controller. */
TEST_F(scene, s, a_report_about_a_controller_is_current_until_the_controller_changes)
{
    struct claims_controller *c = add_controller(s, "a:1", 0, NULL);
    struct claim_wait told;

    c->is_known = false;
    c->trouble = "connection refused";
    add_claim(s, "ns/one", 1, 4);
    decide(s);
    told = verdict_of(s, "ns/one")->wait;
    CHECK(is_told(s, "ns/one", &told));
    c->trouble = "time-out";
    CHECK(!is_told(s, "ns/one", &told));
    c->trouble = "connection refused";
    c->trouble_since = "since 10:02:11Z";
    CHECK(!is_told(s, "ns/one", &told));
}

TEST_F(scene, s, free_ipus_that_do_not_form_a_block_do_not_fit)
{
    /* 16 and 1 leave 47, of which 32 are one block */
    add_controller(s, "a:8090", 64, (const uint32_t[]){16, 1, 0});
    add_claim(s, "ns/one", 1, 32);
    add_claim(s, "ns/two", 2, 16);
    decide(s);
    check_granted(s, "ns/one", 0);
    check_waits(
        s, "ns/two", "InsufficientIPUs",
        "Waiting for 16 IPUs: V-IPU controller a:8090 has 15 of 64 IPUs free, no free block of this size; "
        "32 IPUs just granted to jobs ahead in the queue");
}

TEST_F(scene, s, who_cannot_use_a_controller_does_not_stand_in_its_way)
{
    add_controller(s, "small:1", 16, NULL);
    add_controller(s, "large:1", 64, (const uint32_t[]){64, 0});
    add_claim(s, "ns/large", 1, 64);
    add_claim(s, "ns/small", 2, 16);
    decide(s);
    check_waits(
        s, "ns/large", "InsufficientIPUs",
        "Waiting for 64 IPUs: V-IPU controller large:1 has 0 of 64 IPUs free, no free block of this size");
    check_granted(s, "ns/small", 0);
}

TEST_F(scene, s, a_head_stands_before_every_controller_it_could_use)
{
    add_controller(s, "a:1", 64, (const uint32_t[]){32, 0});
    add_controller(s, "b:1", 64, (const uint32_t[]){32, 0});
    add_claim(s, "ns/large", 1, 64);
    add_claim(s, "ns/small", 2, 1);
    decide(s);
    CHECK_STR_EQ(verdict_of(s, "ns/large")->wait.reason, "InsufficientIPUs");
    CHECK_STR_EQ(verdict_of(s, "ns/small")->wait.reason, "Queued");
}

TEST_F(scene, s, a_second_controller_takes_what_the_first_cannot)
{
    add_controller(s, "a:1", 64, NULL);
    add_controller(s, "b:1", 64, NULL);
    add_claim(s, "ns/one", 1, 64);
    add_claim(s, "ns/two", 2, 64);
    add_claim(s, "ns/three", 3, 64);
    decide(s);
    check_granted(s, "ns/one", 0);
    check_granted(s, "ns/two", 1);
    CHECK_STR_EQ(verdict_of(s, "ns/three")->wait.reason, "InsufficientIPUs");
}

/* It is told about the controller where it is next, not about one where it stands behind somebody. */
TEST_F(scene, s, the_controller_where_it_is_first_explains_the_wait)
{
    static const bool only_a[] = {true, false};

    add_controller(s, "a:1", 64, (const uint32_t[]){64, 0});
    add_controller(s, "b:1", 64, (const uint32_t[]){64, 0});
    add_claim(s, "ns/bound", 1, 64)->eligible = only_a;
    add_claim(s, "ns/free", 2, 64);
    decide(s);
    check_waits(
        s, "ns/free", "InsufficientIPUs",
        "Waiting for 64 IPUs: V-IPU controller b:1 has 0 of 64 IPUs free, no free block of this size");
}

/* ---- what is still being dry_run_entry ---- */

TEST_F(scene, s, who_is_not_ready_keeps_its_place_and_is_not_served)
{
    add_controller(s, "a:1", 64, NULL);
    add_claim(s, "ns/dry_run_entry", 1, 64)->is_ready = false;
    add_claim(s, "ns/ready", 2, 32);
    decide(s);
    CHECK_INT_EQ(verdict_of(s, "ns/dry_run_entry")->controller, -1);
    CHECK(!verdict_of(s, "ns/dry_run_entry")->wait.reason);
    CHECK_INT_EQ(verdict_of(s, "ns/ready")->controller, -1);
}

TEST_F(scene, s, behind_one_that_is_not_ready_nothing_is_reported_yet)
{
    add_controller(s, "a:1", 64, (const uint32_t[]){64, 0});
    add_claim(s, "ns/dry_run_entry", 1, 64)->is_ready = false;
    add_claim(s, "ns/ready", 2, 32);
    decide(s);
    CHECK(!verdict_of(s, "ns/ready")->wait.text);
    CHECK_INT_EQ(verdict_of(s, "ns/ready")->controller, -1);
}

/* ---- eligibility, nodes, capacity ---- */

TEST_F(scene, s, a_node_selector_chooses_the_controller)
{
    static const bool only_b[] = {false, true};

    add_controller(s, "a:1", 64, NULL);
    add_controller(s, "b:1", 64, NULL);
    add_claim(s, "ns/bound", 1, 4)->eligible = only_b;
    decide(s);
    check_granted(s, "ns/bound", 1);
}

TEST_F(scene, s, a_controller_without_nodes_names_the_missing_label)
{
    struct claims_controller *c = add_controller(s, "a:1", 64, NULL);

    c->has_nodes = false;
    c->node_label = "vipu=pod64";
    add_claim(s, "ns/one", 1, 4);
    add_claim(s, "ns/two", 2, 4);
    decide(s);
    check_waits(
        s, "ns/one", "NoMatchingNodes",
        "No node is labeled vipu=pod64 for V-IPU controller a:1; run: kubectl label node NODE vipu=pod64");
    CHECK_STR_EQ(verdict_of(s, "ns/two")->wait.reason, "NoMatchingNodes");
}

TEST_F(scene, s, a_controller_that_is_down_says_since_when)
{
    struct claims_controller *c = add_controller(s, "a:1", 0, NULL);

    c->is_known = false;
    c->trouble = "connection refused";
    c->trouble_since = "since 10:02:11Z";
    add_claim(s, "ns/one", 1, 4);
    decide(s);
    check_waits(s, "ns/one", "ControllerUnavailable",
                "V-IPU controller a:1 is unavailable since 10:02:11Z: connection refused");
}

TEST_F(scene, s, a_controller_that_was_just_asked_gives_nothing_to_report)
{
    add_controller(s, "a:1", 0, NULL)->is_known = false;
    add_claim(s, "ns/one", 1, 4);
    decide(s);
    CHECK_INT_EQ(verdict_of(s, "ns/one")->controller, -1);
    CHECK_STR_EQ(verdict_of(s, "ns/one")->wait.reason, NULL);
}

TEST_F(scene, s, a_controller_that_is_down_delays_only_who_needs_it)
{
    struct claims_controller *down = add_controller(s, "down:1", 0, NULL);

    down->is_known = false;
    down->trouble = "connection refused";
    add_controller(s, "up:1", 64, NULL);
    add_claim(s, "ns/one", 1, 64);
    add_claim(s, "ns/two", 2, 64);
    decide(s);
    check_granted(s, "ns/one", 1);
    CHECK_STR_EQ(verdict_of(s, "ns/two")->wait.reason,
                 "InsufficientIPUs"); /* it could use the one that is up */
}

TEST_F(scene, s, more_than_any_controller_has_is_reported_at_once)
{
    static const bool not_b[] = {true, false, true};

    add_controller(s, "a:1", 16, NULL);
    add_controller(s, "b:1", 64, NULL)->node_label = "rack=b";
    add_controller(s, "c:1", 32, NULL);
    add_claim(s, "ns/large", 1, 64)->eligible = not_b;
    add_claim(s, "ns/small", 2, 16);
    decide(s);
    check_waits(s, "ns/large", "ExceedsCapacity",
                "A partition of 64 IPUs exceeds the capacity of every V-IPU controller: a:1 has 16, b:1 "
                "serves nodes labeled rack=b, c:1 has 32");
    check_granted(s, "ns/small", 0);
}

TEST(sizes_that_no_partition_has_are_reported)
{
    static const struct {
        uint32_t has, wanted;
        const char *says;
    } rows[] = {
        {96, 128,
         "128 IPUs exceeds the capacity of every V-IPU controller: a:1 has 96, largest partition 64"},
        {256, 192, "192 IPUs is not possible: partition sizes are powers of two"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(scene) struct scene s = {0};
        AUTO(mem) char *says = mem_printf("A partition of %s", row->says);

        add_controller(&s, "a:1", row->has, NULL);
        add_claim(&s, "ns/job", 1, row->wanted);
        decide(&s);
        check_waits(&s, "ns/job", "ExceedsCapacity", says);
    }
}

TEST_F(scene, s, a_job_for_nodes_without_a_controller_learns_which_nodes_have_one)
{
    static const bool none[] = {false, false};

    add_controller(s, "a:1", 64, NULL)->node_label = "rack=a";
    add_controller(s, "b:1", 64, NULL)->node_label = "rack=b";
    add_claim(s, "ns/one", 1, 4)->eligible = none;
    decide(s);
    check_waits(s, "ns/one", "NoMatchingController",
                "No V-IPU controller matches the job's nodeSelector: a:1 serves nodes labeled rack=a, b:1 "
                "serves nodes labeled rack=b");
}

TEST_F(scene, s, without_a_controller_nothing_can_be_served)
{
    add_claim(s, "ns/one", 1, 4);
    decide(s);
    check_waits(s, "ns/one", "NoMatchingController",
                "No V-IPU controller is configured; set global.vipuControllers in the chart's values");
}

TEST_F(scene, s, a_controller_that_does_not_report_its_size_is_asked)
{
    add_controller(s, "a:1", 0, NULL);
    add_claim(s, "ns/one", 1, 64);
    add_claim(s, "ns/two", 2, 128);
    decide(s);
    check_granted(s, "ns/one", 0);
    check_granted(s, "ns/two", 0);
}

TEST_F(scene, s, no_claims_are_no_trouble)
{
    add_controller(s, "a:1", 64, NULL);
    decide(s);
    CHECK_INT_EQ(s->claim_count, 0);
}

/* ---- whatever is claimed ---- */

static uint64_t random_state = 0x2545f4914f6cdd1du;

static uint64_t roll(uint64_t sides)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % sides;
}

/* A younger claim is never served by a controller that an older, waiting one could use; grants fit together;
 * and who waits is told why. */
static void check_order(const struct scene *s)
{
    for (size_t i = 0; i < s->claim_count; i++) {
        if (s->verdicts[i].controller < 0)
            CHECK(s->verdicts[i].wait.reason && s->verdicts[i].wait.text);
        for (size_t j = i + 1; j < s->claim_count; j++) {
            int granted = s->verdicts[j].controller;

            CHECK(s->claims[i].turn_s <= s->claims[j].turn_s);
            if (s->verdicts[i].controller >= 0 || granted < 0)
                continue;
            if (vipu_pool_could_fit(&s->pools[granted], s->claims[i].size))
                CHECK_FAIL("%u IPUs passed %u that wait", s->claims[j].size, s->claims[i].size);
        }
    }
    for (size_t c = 0; c < s->controller_count; c++) {
        AUTO(vipu_pool_view) struct vipu_pool_view left = vipu_pool_view_copy(&s->pools[c]);

        for (size_t i = 0; i < s->claim_count; i++) {
            if (s->verdicts[i].controller == (int)c)
                CHECK(vipu_pool_reserve(&left, s->claims[i].size));
        }
    }
}

/* Whoever counts as told by somebody's words would be told just these. */
static void check_told(const struct scene *s)
{
    struct claims_view view = view_of(s);

    for (size_t i = 0; i < s->claim_count; i++) {
        for (size_t j = 0; j < s->claim_count; j++) {
            const struct claim_wait *words = &s->verdicts[j].wait;

            if (!claims_report_is_current(&view, claims_basis(&view), &s->claims[i], &s->decided[i], words))
                continue;
            CHECK_STR_EQ(s->verdicts[i].wait.reason, words->reason);
            CHECK_STR_EQ(s->verdicts[i].wait.text, words->text);
            CHECK_STR_EQ(s->verdicts[i].wait.controller, words->controller);
        }
    }
}

/* ---- partitions whose pods cannot start ---- */

/* One domain of 64 IPUs: `start` and `size` of each partition; the rest is taken. */
struct stuck {
    struct vipu_partition items[MAX];
    struct vipu_partitions list;
    bool wanted[MAX];
};

static void stuck_auto(struct stuck *stuck)
{
    for (size_t i = 0; i < stuck->list.count; i++)
        mem_free(stuck->items[i].ipus);
}

static char cl1[] = "cl1";

static void add_partition(struct stuck *stuck, uint32_t start, uint32_t size)
{
    struct vipu_partition *p = &stuck->items[stuck->list.count++];

    *p = (struct vipu_partition){.cluster_id = cl1, .size = size, .ready_state = VIPU_READY_ACTIVE};
    p->ipus = mem_alloc(size * sizeof(*p->ipus));
    for (uint32_t i = 0; i < size; i++)
        p->ipus[i] = (struct vipu_ipu){.topology_id = start + i, .routing_id = i};
    stuck->list.items = stuck->items;
}

/* The first `running` partitions run, the others are stuck. */
static struct claims_controller *add_stuck_controller(struct scene *s, const char *name, struct stuck *all,
                                                      struct stuck *stuck, size_t running)
{
    size_t i = s->controller_count++;

    for (size_t p = running; p < all->list.count; p++)
        add_partition(stuck, all->items[p].ipus[0].topology_id, all->items[p].size);
    s->pools[i] = vipu_pool_view_of(&all->list, (struct vipu_pool_shape){.total_ipus = 64});
    CHECK(s->pools[i].placed);
    s->controllers[i] = (struct claims_controller){.name = name,
                                                   .is_known = true,
                                                   .has_nodes = true,
                                                   .pool = &s->pools[i],
                                                   .stuck = &stuck->list,
                                                   .stuck_wanted = stuck->wanted};
    return &s->controllers[i];
}

TEST(no_more_stuck_partitions_are_given_up_than_the_head_needs)
{
    static const struct {
        const char *what;
        uint32_t claims[2], running, leaving;
        bool is_ready, wanted[3];
    } rows[] = {
        /* 16 run, 16, 16 and 8 are stuck, 8 are free */
        {"one is enough, beside free IPUs", {16, 0}, 1, 0, true, {false, false, true}},
        {"two of them", {32, 0}, 1, 0, true, {false, true, true}},
        {"all would not be enough", {64, 0}, 1, 0, true, {false, false, false}},
        {"all are", {64, 0}, 0, 0, true, {true, true, true}},
        {"it fits", {8, 0}, 1, 0, true, {false, false, false}},
        {"what fits goes to another", {8, 8}, 1, 0, true, {false, false, true}},
        {"the head counts, and nobody passes it", {64, 16}, 1, 0, true, {false, false, false}},
        {"one is being given up", {16, 0}, 1, 1, true, {false, false, false}},
        {"another one has to be", {32, 0}, 1, 2, true, {false, true, true}},
        {"it may still be invalid", {16, 0}, 1, 0, false, {false, false, false}},
    };

    CHECK_ROWS (row, rows) {
        AUTO(scene) struct scene s = {0};
        AUTO(stuck) struct stuck all = {0};
        AUTO(stuck) struct stuck stuck = {0};

        add_partition(&all, 0, 16);
        add_partition(&all, 16, 16);
        add_partition(&all, 32, 16);
        add_partition(&all, 48, 8);
        add_stuck_controller(&s, "a:8090", &all, &stuck, row->running)->stuck_leaving = row->leaving;
        for (size_t i = 0; i < COUNT_OF(row->claims) && row->claims[i]; i++)
            add_claim(&s, i ? "ns/second" : "ns/first", (int64_t)i, row->claims[i])->is_ready = row->is_ready;
        decide(&s);
        for (size_t i = 0; i < COUNT_OF(row->wanted); i++) {
            size_t first = 1 - row->running; /* else the first of the stuck ones is the one that runs here */

            if (stuck.wanted[first + i] != row->wanted[i])
                CHECK_FAIL("%s: partition %zu is %s", row->what, i, row->wanted[i] ? "not wanted" : "wanted");
        }
    }
}

TEST(a_claim_wants_partitions_of_one_controller)
{
    AUTO(scene) struct scene s = {0};
    AUTO(stuck) struct stuck runs = {0};
    AUTO(stuck) struct stuck all = {0};
    AUTO(stuck) struct stuck none = {0};
    AUTO(stuck) struct stuck one = {0};
    AUTO(stuck) struct stuck other = {0};

    add_partition(&runs, 0, 64);
    add_partition(&all, 0, 64);
    add_stuck_controller(&s, "a:8090", &runs, &none, 1);
    add_stuck_controller(&s, "b:8090", &all, &one, 0);
    add_stuck_controller(&s, "c:8090", &all, &other, 0);
    add_claim(&s, "ns/waits", 1, 64);
    decide(&s);
    CHECK(one.wanted[0] && !other.wanted[0]);
    CHECK_STR_EQ(verdict_of(&s, "ns/waits")->wait.controller, "b:8090"); /* which serves it first */
}

/* No place is known, only how many there are. */
TEST(ipus_that_are_only_counted_are_given_up_by_number)
{
    AUTO(scene) struct scene s = {0};
    AUTO(stuck) struct stuck all = {0};
    AUTO(stuck) struct stuck stuck = {0};

    for (uint32_t i = 0; i < 4; i++)
        add_partition(&all, 16 * i, 16);
    add_stuck_controller(&s, "a:8090", &all, &stuck, 1);
    s.pools[0].placed = false;
    add_claim(&s, "ns/waits", 1, 32);
    decide(&s);
    CHECK(stuck.wanted[0] && stuck.wanted[1] && !stuck.wanted[2]);
}

TEST(who_waits_for_a_job_that_cannot_start_is_told_so)
{
    static const struct claims_holder holder = {
        .job = "ns/stuck", .partition = "p-stuck", .size = 64, .stuck = "ImagePullFailed"};
    AUTO(scene) struct scene s = {0};

    hold(add_controller(&s, "a:8090", 64, (const uint32_t[]){64, 0}), &holder, 1);
    add_claim(&s, "ns/waits", 1, 64);
    add_claim(&s, "ns/behind", 2, 32);
    decide(&s);
    check_waits(
        &s, "ns/waits", "InsufficientIPUs",
        "Waiting for 64 IPUs: V-IPU controller a:8090 has 0 of 64 IPUs free, no free block of this size; in "
        "use by ns/stuck (64 IPUs, its pods cannot start: ImagePullFailed)");
    check_waits(
        &s, "ns/behind", "Queued",
        "Waiting for 32 IPUs: V-IPU controller a:8090 has 0 of 64 IPUs free, no free block of this size; "
        "1 instance ahead in the queue, the first is ns/waits, which waits for ns/stuck (64 IPUs, its pods "
        "cannot start: ImagePullFailed)");
}

/* ---- plans ---- */

/* Domain 0 has a job of 32 IPUs that runs until 1000, domain 1 a partition of 48 IPUs of somebody else. */
struct machine {
    struct scene scene;
    struct stuck listed;
    struct claims_running running;
};

static void machine_auto(struct machine *m)
{
    scene_release(&m->scene);
    stuck_auto(&m->listed);
}

static void machine_set_up(struct machine *m)
{
    struct scene *s = &m->scene;

    add_partition(&m->listed, 0, 32);
    add_partition(&m->listed, 0, 48);
    for (size_t i = 0; i < 48; i++)
        m->listed.items[1].ipus[i].domain_topology_id = 1;
    m->running = (struct claims_running){
        .partition = &m->listed.items[0], .size = 32, .job = "ns/runs", .uid = "runs", .end_s = 1000};
    s->pools[0] = vipu_pool_view_of(&m->listed.list, (struct vipu_pool_shape){.total_ipus = 128});
    s->controllers[s->controller_count++] = (struct claims_controller){.name = "a:1",
                                                                       .is_known = true,
                                                                       .has_nodes = true,
                                                                       .policy = FORECAST_BOUNDED,
                                                                       .pool = &s->pools[0],
                                                                       .running = &m->running,
                                                                       .running_count = 1};
    s->now_s = 400;
    s->settings = FORECAST_SETTINGS_DEFAULT;
}

static const struct forecast_plan *plan_of(const struct machine *m)
{
    return forecast_plan_of(m->scene.plan->forecast);
}

TEST(who_ends_in_time_or_is_elsewhere_passes_the_first)
{
    AUTO(machine) struct machine m = {0};

    machine_set_up(&m);
    add_claim(&m.scene, "ns/large", 1, 64);
    add_claim(&m.scene, "ns/too-long", 2, 32)->bound_s = 601;
    add_claim(&m.scene, "ns/short", 3, 32)->bound_s = 600;
    add_claim(&m.scene, "ns/elsewhere", 4, 16);
    decide(&m.scene);
    CHECK_STR_EQ(verdict_of(&m.scene, "ns/large")->wait.reason, "InsufficientIPUs");
    CHECK_STR_EQ(verdict_of(&m.scene, "ns/too-long")->wait.reason, "Queued");
    check_granted(&m.scene, "ns/short", 0);
    check_granted(&m.scene, "ns/elsewhere", 0);
    CHECK_INT_EQ(m.scene.grants.items[0].block.domain, 0);
    CHECK_INT_EQ(m.scene.grants.items[0].block.ipus, vipu_block_mask(32, 32));
    CHECK_INT_EQ(m.scene.grants.items[1].block.domain, 1);
    CHECK_INT_EQ(plan_of(&m)->reserved_count, 1);
    CHECK_INT_EQ(plan_of(&m)->reserved[0].start_s, 1000);
}

TEST(no_block_is_kept_in_a_cordoned_domain_if_there_is_another)
{
    AUTO(machine) struct machine m = {0};
    struct vipu_pool_domain first;

    machine_set_up(&m);
    CHECK(vipu_pool_next_domain(&m.scene.pools[0], &(size_t){0}, &first));
    vipu_pool_cordon_domain(&m.scene.pools[0], &first);
    add_claim(&m.scene, "ns/large", 1, 64);
    add_claim(&m.scene, "ns/small", 2, 32)->bound_s = 1;
    decide(&m.scene);
    CHECK_INT_EQ(m.scene.grants.count, 0);
    CHECK_INT_EQ(plan_of(&m)->reserved[0].block.domain, 1);
    CHECK_INT_EQ(plan_of(&m)->reserved[0].start_s, FORECAST_UNKNOWN);
}

/* Nobody knows when an admin ends a cordon: what would start there has no expected start. */
TEST(expected_starts_leave_cordoned_ipus_out)
{
    static const struct {
        bool is_cordoned;
        int64_t large_s;
    } rows[] = {{false, 1000}, {true, FORECAST_UNKNOWN}};

    CHECK_ROWS (row, rows) {
        AUTO(machine) struct machine m = {0};
        struct vipu_pool_domain first;

        machine_set_up(&m);
        CHECK(vipu_pool_next_domain(&m.scene.pools[0], &(size_t){0}, &first));
        if (row->is_cordoned)
            vipu_pool_cordon_domain(&m.scene.pools[0], &first);
        add_claim(&m.scene, "ns/large", 1, 64);
        add_claim(&m.scene, "ns/small", 2, 16);
        decide(&m.scene);
        while (!claims_plan_step(m.scene.plan, 1000))
            ;
        CHECK_INT_EQ(plan_of(&m)->verdicts[claims_plan_find(m.scene.plan, "ns/large")].p90_s, row->large_s);
        check_granted(&m.scene, "ns/small", 0);
        CHECK_INT_EQ(m.scene.grants.items[0].block.domain, 1);
    }
}

TEST(the_plan_knows_for_how_long_jobs_are_expected_to_keep_ipus)
{
    AUTO(machine) struct machine m = {0};
    const struct forecast_verdict *verdict;

    machine_set_up(&m);
    m.running.end_s = FORECAST_UNKNOWN;
    m.running.left = (struct forecast_quantiles){100, 100, 100};
    add_claim(&m.scene, "ns/next", 1, 64)->run = (struct forecast_quantiles){50, 50, 50};
    add_claim(&m.scene, "ns/after", 2, 64);
    decide(&m.scene);
    while (!claims_plan_step(m.scene.plan, 1000))
        ;
    verdict = &plan_of(&m)->verdicts[claims_plan_find(m.scene.plan, "ns/next")];
    CHECK_INT_EQ(verdict->p50_s, 500);
    CHECK_INT_EQ(verdict->basis, FORECAST_BY_HISTORY);
    verdict = &plan_of(&m)->verdicts[claims_plan_find(m.scene.plan, "ns/after")];
    CHECK_INT_EQ(verdict->p50_s, 550);
}

TEST(expected_starts_are_found_by_job)
{
    AUTO(machine) struct machine m = {0};
    int64_t large;

    machine_set_up(&m);
    add_claim(&m.scene, "ns/large", 1, 64);
    add_claim(&m.scene, "ns/small", 2, 16);
    decide(&m.scene);
    CHECK_INT_EQ(claims_plan_find(m.scene.plan, "ns/large"), -1); /* nothing is known yet */
    while (!claims_plan_step(m.scene.plan, 1))
        ;
    large = claims_plan_find(m.scene.plan, "ns/large");
    CHECK_INT_EQ(claims_plan_find(m.scene.plan, "ns/other"), -1);
    CHECK_INT_EQ(plan_of(&m)->verdicts[large].p90_s, 1000);
    CHECK_INT_EQ(plan_of(&m)->verdicts[large].basis, FORECAST_BY_BOUNDS);
}

TEST(random_claims_are_served_in_order)
{
    static const uint32_t totals[] = {16, 64, 64, 256};

    for (int round = 0; round < 2000; round++) {
        AUTO(scene) struct scene s = {0};

        for (uint64_t n = 1 + roll(3); n--;)
            add_controller(&s, "c", totals[roll(COUNT_OF(totals))],
                           (const uint32_t[]){roll(2) ? 0 : 1u << roll(5), 0});
        for (uint64_t n = 1 + roll(MAX); n--;)
            add_claim(&s, "j", (int64_t)roll(4), 1u << roll(8))->arrival = n;
        decide(&s);
        check_order(&s);
        check_told(&s);
    }
}

/* ---- counted and listed ---- */

/* A job's claim as one claim for each of its instances, which take turns. */
static void list_instances(struct scene *s, struct scene *ret)
{
    for (size_t i = 0; i < s->controller_count; i++) {
        ret->pools[i] = vipu_pool_view_copy(&s->pools[i]);
        ret->controllers[i] = s->controllers[i];
        ret->controllers[i].pool = &ret->pools[i];
    }
    ret->controller_count = s->controller_count;
    for (size_t i = 0; i < s->claim_count; i++) {
        for (uint32_t n = 0; n < s->claims[i].count; n++) {
            struct claim *one = &ret->claims[ret->claim_count++];

            *one = s->claims[i];
            one->count = 1;
            one->turn_s += 10 * n;
        }
    }
}

/* The partitions of this size that a controller gives. Sizes tell jobs apart. */
static size_t count_grants(const struct scene *s, uint32_t size, size_t controller)
{
    size_t count = 0;

    for (size_t i = 0; i < s->grants.count; i++)
        count +=
            s->claims[s->grants.items[i].claim].size == size && s->grants.items[i].controller == controller;
    return count;
}

TEST(counted_instances_are_served_as_if_they_were_listed)
{
    static const uint32_t totals[] = {0, 16, 64, 256};

    for (int round = 0; round < 2000; round++) {
        AUTO(scene) struct scene counted = {0};
        AUTO(scene) struct scene listed = {0};
        uint32_t rotation = (uint32_t)roll(8);

        for (uint64_t n = 1 + roll(3); n--;)
            add_controller(&counted, "c", totals[roll(COUNT_OF(totals))], NULL);
        for (size_t i = 0; i < 4; i++) {
            struct claim *claim = add_claim(&counted, "ns/j", (int64_t)roll(2), 1u << (i + rotation) % 8);

            claim->count = 1 + (uint32_t)roll(MAX / 4);
            claim->arrival = i;
            claim->is_ready = roll(4) > 0;
        }
        list_instances(&counted, &listed);
        decide(&counted);
        decide(&listed);
        CHECK_INT_EQ(counted.grants.count, listed.grants.count);
        for (size_t i = 0; i < counted.claim_count; i++) {
            for (size_t c = 0; c < counted.controller_count; c++)
                CHECK_INT_EQ(count_grants(&counted, counted.claims[i].size, c),
                             count_grants(&listed, counted.claims[i].size, c));
        }
    }
}
