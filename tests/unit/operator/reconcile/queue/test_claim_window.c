/* Which jobs a look at the queue decides about when more wait than it can. */
#include "operator/reconcile/queue/claim_window.h"

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/reconcile/reconciler.h"
#include "operator/reconcile/what_if.h"

#define MANY (CLAIM_WINDOW_MAX + 1)

struct crowd {
    struct reconciler r;
    struct pool_config config;
    struct loop_timer end;
};

static void do_nothing(struct loop_timer *timer)
{
    (void)timer;
}

static void stop_after_search(struct loop_timer *timer)
{
    struct crowd *crowd = CONTAINER_OF(timer, struct crowd, end);

    if (loop_timer_is_running(&crowd->r.claim_window.slice))
        loop_timer_start(crowd->r.loop, timer, 0, stop_after_search);
    else
        loop_stop(crowd->r.loop);
}

static bool may_not_send(void *ctx)
{
    (void)ctx;
    return false;
}

static void ignore(void *ctx)
{
    (void)ctx;
}

static void crowd_init(struct crowd *crowd)
{
    AUTO(strv) struct strv problems = {0};

    *crowd = (struct crowd){0};
    pool_config_add_text(&crowd->config, "127.0.0.1:1", &problems);
    crowd->r.claim_window.jobs.borrows_keys = true;
    crowd->r.loop = loop_new();
    crowd->r.queue = workqueue_new();
    crowd->r.on_due = do_nothing;
    crowd->r.pool = pool_new(crowd->r.loop, &(struct pool_options){.config = &crowd->config,
                                                                   .may_send = may_not_send,
                                                                   .on_capacity_change = ignore});
}

static void crowd_release(struct crowd *crowd)
{
    void *cache;

    loop_timer_stop(&crowd->r.due);
    claim_window_release(&crowd->r.claim_window);
    claim_order_release(&crowd->r.with_claims);
    queue_totals_release(&crowd->r.queue_totals);
    for (size_t i = 0; map_next(&crowd->r.job_caches, &i, NULL, &cache);)
        job_cache_free(cache);
    map_release(&crowd->r.job_caches);
    workqueue_free(crowd->r.queue);
    pool_free(crowd->r.pool);
    pool_config_release(&crowd->config);
    loop_free(crowd->r.loop);
}

static struct job_cache *add(struct crowd *crowd, const char *ns, unsigned number)
{
    AUTO(mem) char *key = mem_printf("%s/job-%u", ns, number);
    struct job_cache *cache = job_cache_get(&crowd->r, key, key);
    AUTO(indexset) struct indexset instances = {0};

    indexset_add(&instances, 0);
    job_claims_set(&cache->claims, &instances, true, 0);
    cache->ipus_per_instance = 4;
    claim_window_add(&crowd->r, cache);
    return cache;
}

static bool is_in(const struct crowd *crowd, const struct job_cache *cache)
{
    return map_get(&crowd->r.claim_window.jobs, cache->uid) == cache;
}

/* The search that is on; a look is due after it. */
static void finish_search(struct crowd *crowd)
{
    CHECK(loop_timer_is_running(&crowd->r.claim_window.slice));
    loop_timer_start(crowd->r.loop, &crowd->end, 0, stop_after_search);
    loop_run(crowd->r.loop);
    CHECK(crowd->r.claims_changed);
    crowd->r.claims_changed = false;
}

static void search(struct crowd *crowd)
{
    CHECK(!claim_window_is_ready(&crowd->r));
    finish_search(crowd);
    CHECK(claim_window_is_ready(&crowd->r));
}

TEST_F(crowd, c, all_of_a_few_are_looked_at)
{
    for (unsigned i = 0; i < CLAIM_WINDOW_JOBS; i++)
        add(c, "team", i);
    CHECK(claim_window_is_ready(&c->r));
    CHECK_INT_EQ(c->r.claim_window.jobs.count, CLAIM_WINDOW_JOBS);
    CHECK(!loop_timer_is_running(&c->r.claim_window.slice));
}

TEST_F(crowd, c, of_many_the_first_are_looked_at_and_the_others_are_told)
{
    struct job_cache *first = add(c, "team", 0), *last = NULL;

    for (unsigned i = 1; i < MANY; i++)
        last = add(c, "team", i);
    search(c);
    CHECK_INT_EQ(c->r.claim_window.jobs.count, CLAIM_WINDOW_JOBS / 2); /* and of its group the same */
    CHECK_INT_EQ(c->r.with_claims.count, MANY);
    CHECK(is_in(c, first) && !is_in(c, last));
    CHECK_INT_EQ(last->claims.wait.why, CLAIM_IS_FAR_BEHIND);
    CHECK_STR_EQ(last->claims.wait.controller, "127.0.0.1:1");
    CHECK(last->claims.is_answered && !first->claims.is_answered);
}

TEST_F(crowd, c, who_is_urgent_or_granted_ipus_or_alone_is_looked_at)
{
    struct job_cache *urgent = NULL, *granted = NULL, *alone;

    for (unsigned i = 0; i < MANY; i++) {
        granted = urgent;
        urgent = add(c, "team", i);
    }
    alone = add(c, "other", 0);
    urgent->priority = 1;
    claim_window_note(&c->r, urgent);
    job_claims_assign(&granted->claims, &(struct indexset){0},
                      &(struct job_grant){.controller = "127.0.0.1:1"}, 1);
    search(c);
    CHECK(is_in(c, urgent) && is_in(c, granted) && is_in(c, alone));
    CHECK_INT_EQ(c->r.claim_window.group_count, 2);
}

TEST_F(crowd, c, others_come_in_when_many_have_started)
{
    struct job_cache *caches[MANY];

    for (unsigned i = 0; i < MANY; i++)
        caches[i] = add(c, "team", i);
    search(c);
    for (unsigned i = 0; i < CLAIM_WINDOW_JOBS * 2 / 3; i++)
        claim_window_remove(&c->r, caches[i]->uid);
    CHECK(claim_window_is_ready(&c->r)); /* the others are not waited for */
    finish_search(c);
    CHECK_INT_EQ(c->r.claim_window.jobs.count, CLAIM_WINDOW_JOBS / 2);
    CHECK(is_in(c, caches[CLAIM_WINDOW_JOBS]));
}

TEST_F(crowd, c, new_ones_do_not_delay_a_look)
{
    for (unsigned i = 0; i < CLAIM_WINDOW_JOBS + CLAIM_WINDOW_NEW + 1; i++)
        add(c, "team", i);
    CHECK(claim_window_is_ready(&c->r));
    loop_timer_start(c->r.loop, &c->end, 0, stop_after_search);
    loop_run(c->r.loop);
    CHECK_INT_EQ(c->r.claim_window.jobs.count, CLAIM_WINDOW_JOBS / 2);
}

TEST_F(crowd, c, only_a_change_makes_another_search_due)
{
    struct job_cache *cache = NULL;

    for (unsigned i = 0; i < MANY; i++)
        cache = add(c, "team", i);
    search(c);
    claim_window_note(&c->r, cache);
    CHECK(!c->r.claim_window.has_changed);
    claim_window_add(&c->r, cache); /* its template is valid now */
    CHECK(c->r.claim_window.has_changed);
    c->r.claim_window.has_changed = false;
    cache->priority = 1;
    claim_window_note(&c->r, cache);
    CHECK(c->r.claim_window.has_changed);
    c->r.claim_window.has_changed = false;
    job_claims_assign(&cache->claims, &(struct indexset){0}, &(struct job_grant){.controller = "127.0.0.1:1"},
                      1);
    claim_window_note(&c->r, cache);
    CHECK(c->r.claim_window.has_changed);
}

TEST_F(crowd, c, who_asks_what_would_start_waits_for_the_first)
{
    static char ns[] = "team", name[] = "";

    c->r.all_validated = true;
    CHECK(reconciler_knows_queue(&c->r));
    for (unsigned i = 0; i < MANY; i++)
        add(c, ns, i);
    CHECK(!reconciler_knows_queue(&c->r));
    CHECK(
        !what_if_begin(&c->r, &(struct what_if_request){.ns = ns, .name = name, .ipus = 4, .instances = 1}));
    search(c);
    CHECK(reconciler_knows_queue(&c->r));
}

/* ---- limits of the queue ---- */

static void check_told(const struct job_cache *cache, enum claim_wait_cause why)
{
    CHECK_INT_EQ(cache->claims.wait.why, why);
    CHECK(cache->claims.is_answered);
}

TEST_F(crowd, c, those_behind_are_told_that_the_queue_is_full)
{
    struct job_cache *last_with_a_place = NULL, *full = NULL, *others;

    c->r.options.queue_limits = (struct queue_limits){.per_namespace = MANY - 10, .total = MANY};
    for (unsigned i = 0; i < MANY; i++) {
        full = add(c, "team", i);
        if (i == MANY - 11)
            last_with_a_place = full;
    }
    others = add(c, "other", 0);
    search(c);
    check_told(last_with_a_place, CLAIM_IS_FAR_BEHIND);
    check_told(full, CLAIM_NAMESPACE_IS_FULL);
    CHECK_STR_EQ(full->claims.wait.text,
                 "Waiting for 4 IPUs: not in the queue yet, because namespace team has 1491 waiting "
                 "instances, the limit; reduce spec.jobInstances of jobs that wait, delete some, or set "
                 "queue.maxWaitingInstancesPerNamespace in the chart's values");
    CHECK_INT_EQ(others->claims.full, CLAIM_NOTHING_TO_REPORT);
}

TEST_F(crowd, c, who_is_looked_at_counts_those_who_are_not)
{
    struct job_cache *caches[MANY], *alone;

    c->r.options.queue_limits = (struct queue_limits){.total = MANY};
    for (unsigned i = 0; i < MANY; i++)
        caches[i] = add(c, "team", i);
    alone = add(c, "other", 0);
    search(c);
    CHECK(is_in(c, alone));
    CHECK_INT_EQ(alone->claims.full, CLAIM_QUEUE_IS_FULL);
    claim_window_remove(&c->r, caches[0]->uid);
    CHECK(claim_window_is_ready(&c->r));
    CHECK(loop_timer_is_running(&c->r.claim_window.look)); /* for those who are not looked at */
    c->r.claim_window.next_ms = 0;
    CHECK(claim_window_is_ready(&c->r));
    finish_search(c);
    CHECK_INT_EQ(alone->claims.full, CLAIM_NOTHING_TO_REPORT);
}
