/* The numbers of the queue are those of the jobs in it, whatever each has been before. */
#include "operator/reconcile/state/queue_totals.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define JOBS 40
#define CHANGES 5000
#define CONTROLLERS 3

static void set(struct job_cache *cache, uint32_t instances, uint32_t granted, bool is_ready, int64_t now_s)
{
    AUTO(indexset) struct indexset set = {0};
    struct job_grant grants[8] = {{.controller = "ctl"}, {.controller = "ctl"}, {.controller = "ctl"}};

    for (uint32_t i = 0; i < instances; i++)
        indexset_add(&set, i);
    job_claims_set(&cache->claims, &set, is_ready, now_s);
    job_claims_assign(&cache->claims, &(struct indexset){0}, grants, granted);
}

static struct job_cache *new_cache(const char *key, uint32_t size)
{
    struct job_cache *cache = job_cache_new(key, key);

    cache->ipus_per_instance = size;
    return cache;
}

static const struct queue_namespace *in(const struct queue_totals *totals, const char *ns)
{
    return map_get(&totals->namespaces, ns);
}

TEST(granted_instances_claim_and_do_not_wait)
{
    struct queue_totals totals = {.controllers = CONTROLLERS};
    struct job_cache *cache = new_cache("team/job", 4);

    set(cache, 10, 3, true, 100);
    queue_totals_note(&totals, cache, true);
    CHECK_INT_EQ(totals.claims, 10);
    CHECK_INT_EQ(totals.waiting, 7);
    CHECK_INT_EQ(in(&totals, "team")->waiting, 7);
    CHECK_INT_EQ(in(&totals, "team")->ipus, 40);
    CHECK_INT_EQ(seconds_first(&totals.since), 100);
    queue_totals_drop(&totals, cache);
    CHECK_INT_EQ(totals.claims, 0);
    CHECK_INT_EQ(seconds_first(&totals.since), 0);
    CHECK(!in(&totals, "team") && totals.groups.count == 0);
    job_cache_free(cache);
    queue_totals_release(&totals);
}

TEST(only_jobs_of_the_start_are_waited_for)
{
    struct queue_totals totals = {0};
    struct job_cache *early = new_cache("team/early", 1), *late = new_cache("team/late", 1);

    set(early, 1, 0, false, 100);
    set(late, 1, 0, false, 100);
    queue_totals_note(&totals, early, true);
    queue_totals_note(&totals, late, false);
    CHECK_INT_EQ(totals.unready, 1);
    set(early, 1, 0, true, 100);
    queue_totals_note(&totals, early, true);
    CHECK_INT_EQ(totals.unready, 0);
    job_cache_free(early);
    job_cache_free(late);
    queue_totals_release(&totals);
}

TEST(jobs_of_one_size_and_other_controllers_are_apart)
{
    struct queue_totals totals = {.controllers = CONTROLLERS};
    struct job_cache *any = new_cache("team/any", 4), *some = new_cache("team/some", 4);
    const struct queue_group *of_some;

    some->eligible = mem_alloc(CONTROLLERS);
    some->eligible[1] = true;
    set(any, 2, 0, true, 100);
    set(some, 3, 0, true, 100);
    queue_totals_note(&totals, any, false);
    queue_totals_note(&totals, some, false);
    of_some = map_get(&totals.groups, "4:010");
    CHECK(of_some && of_some->claims == 3 && of_some->eligible[1] && !of_some->eligible[0]);
    some->eligible[2] = true; /* its template has changed */
    queue_totals_note(&totals, some, false);
    CHECK(!map_get(&totals.groups, "4:010"));
    CHECK_INT_EQ(totals.groups.count, 2);
    job_cache_free(any);
    job_cache_free(some);
    queue_totals_release(&totals);
}

/* A small generator, the same in each run. */
static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

static void check_against(const struct queue_totals *totals, struct job_cache *const *caches,
                          const bool *is_in)
{
    uint32_t claims = 0, waiting = 0;
    int64_t oldest = 0;
    uint64_t ipus = 0;

    for (size_t i = 0; i < JOBS; i++) {
        const struct job_claims *mine = &caches[i]->claims;

        if (!is_in[i])
            continue;
        claims += (uint32_t)mine->count;
        waiting += (uint32_t)(mine->count - mine->grant_count);
        ipus += i % 2 ? 0 : (uint64_t)mine->count * caches[i]->ipus_per_instance;
        if (!oldest || mine->batches[0].since_s < oldest)
            oldest = mine->batches[0].since_s;
    }
    CHECK_INT_EQ(totals->claims, claims);
    CHECK_INT_EQ(totals->waiting, waiting);
    CHECK_INT_EQ(seconds_first(&totals->since), oldest);
    CHECK_INT_EQ(in(totals, "even") ? in(totals, "even")->ipus : 0, ipus);
}

TEST(after_any_changes_the_numbers_are_those_of_the_jobs)
{
    struct queue_totals totals = {0};
    struct job_cache *caches[JOBS];
    bool is_in[JOBS] = {0};
    uint32_t state = 7;

    for (unsigned i = 0; i < JOBS; i++) {
        AUTO(mem) char *key = mem_printf("%s/job-%u", i % 2 ? "odd" : "even", i);

        caches[i] = new_cache(key, 1u << i % 4);
    }
    for (unsigned change = 0; change < CHANGES; change++) {
        size_t i = next(&state) % JOBS;

        is_in[i] = next(&state) % 3 != 0;
        if (is_in[i]) {
            set(caches[i], 4 + next(&state) % 20, next(&state) % 4, next(&state) % 2, 1 + next(&state) % 500);
            queue_totals_note(&totals, caches[i], true);
        } else {
            set(caches[i], 0, 0, true, 1);
            queue_totals_drop(&totals, caches[i]);
        }
        check_against(&totals, caches, is_in);
    }
    for (size_t i = 0; i < JOBS; i++) {
        queue_totals_drop(&totals, caches[i]);
        job_cache_free(caches[i]);
    }
    CHECK(totals.claims == 0 && totals.since.count == 0 && totals.namespaces.count == 0);
    queue_totals_release(&totals);
}
