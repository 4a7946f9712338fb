/* The estimates that the plan asks for, from what the reconciler knows of a job. */
#include "operator/reconcile/queue/run_times.h"

#include "lib/check.h"
#include "operator/history/history.h"

#define PARTITION "p-digits-team-0"

static struct instance_progress progress;

struct known {
    struct reconciler r;
    struct job_cache *cache;
    struct record record;
};

static char uid[] = "uid", partition[] = PARTITION, ns[] = "team", name[] = "digits-7";

static void known_init(struct known *k)
{
    struct job job = {.ns = ns, .name = name, .uid = uid, .image = 4711, .spec = {.ipus_per_instance = 4}};

    *k = (struct known){.record = {.name = partition, .uid = uid, .job_uid = uid, .started = true}};
    k->r.loop = loop_new();
    k->r.history = history_new();
    k->cache = job_cache_get(&k->r, "team/digits-7", uid);
    run_times_note_job(k->cache, &job);
}

static void known_release(struct known *k)
{
    map_release(&k->r.job_caches);
    job_cache_free(k->cache);
    history_free(k->r.history);
    loop_free(k->r.loop);
}

static int64_t loop_s(const struct known *k)
{
    return loop_now_ms(k->r.loop) / 1000;
}

/* This process created the record so long ago. */
static void created(struct known *k, int64_t seconds_ago)
{
    int64_t at_ms = loop_now_ms(k->r.loop) - seconds_ago * 1000;

    job_cache_partition(k->cache, PARTITION, at_ms < 0 ? 0 : at_ms)->is_ours_fresh = true;
}

TEST_F(known, k, a_run_counts_for_later_jobs_of_its_kind)
{
    struct job later = {.ns = ns, .name = "digits-8", .image = 4711, .spec = {.ipus_per_instance = 4}},
               other = {.ns = ns, .name = "digits-8", .image = 4712, .spec = {.ipus_per_instance = 4}};
    struct job_cache *cache = job_cache_get(&k->r, "team/digits-8", "other-uid");

    CHECK_INT_EQ(run_times_of_kind(&k->r, &k->cache->kind).p90, 0);
    created(k, 30);
    run_times_note_record(&k->r, k->cache, &k->record, NULL);
    CHECK_INT_EQ(k->r.history->runs.runs[0].seconds, 30);
    run_times_note_job(cache, &later);
    CHECK_INT_EQ(cache->kind.hashes[0], k->cache->kind.hashes[0]);
    CHECK_INT_EQ(run_times_of_kind(&k->r, &cache->kind).p90, 30);
    run_times_note_job(cache, &other);
    CHECK(cache->kind.hashes[0] != k->cache->kind.hashes[0]);
    CHECK_INT_EQ(cache->kind.hashes[1], k->cache->kind.hashes[1]);
    job_cache_free(cache);
}

TEST_F(known, k, a_run_that_was_cut_short_tells_nothing_of_others)
{
    static char urgent[] = "team/urgent";

    created(k, 30);
    k->record.preemptor = urgent;
    run_times_note_record(&k->r, k->cache, &k->record, NULL);
    k->record.preemptor = NULL;
    CHECK_INT_EQ(k->r.history->runs.count, 0);
}

TEST_F(known, k, a_job_that_was_never_reconciled_has_no_kind)
{
    k->cache->kind = (struct run_kind){0};
    created(k, 30);
    run_times_note_record(&k->r, k->cache, &k->record, NULL);
    CHECK_INT_EQ(k->r.history->runs.count, 0);
}

TEST_F(known, k, the_wall_clock_counts_if_another_process_has_created_the_record)
{
    k->record.created_s = loop_unix_micros() / 1000000 - 2000;
    CHECK(run_times_of_running(&k->r, &k->record).p50 >= 900);
    k->record.created_s += 100000; /* the clock has jumped back */
    CHECK_INT_EQ(run_times_of_running(&k->r, &k->record).p90, 0);
    run_times_note_record(&k->r, k->cache, &k->record, NULL);
    CHECK_INT_EQ(k->r.history->runs.count, 0);
}

static const struct instance_progress *progress_of(const struct progress_board *board,
                                                   const struct record *record)
{
    (void)board;
    CHECK_STR_EQ(record->name, PARTITION);
    return &progress;
}

TEST_F(known, k, what_runs_reports_its_progress)
{
    progress = (struct instance_progress){.has_reported = true,
                                          .percent = 20,
                                          .reported = {.loop_s = loop_s(k)},
                                          .moved_s = loop_s(k),
                                          .from_s = loop_s(k) - 100};
    created(k, 30);
    k->r.progress_of = progress_of;
    CHECK_INT_EQ(run_times_of_running(&k->r, &k->record).p50, 400);
    k->record.job_uid = ns; /* of a job that is not known */
    CHECK_INT_EQ(run_times_of_running(&k->r, &k->record).p90, 0);
}
