#include "operator/forecast/plan/remedy.h"

#include "lib/check.h"
#include "replay.h"

/* The last two worked examples of docs/queue.md: domains A and B, times in minutes. */
#define MIN 60
#define LEAST_RUN (10 * MIN)

struct scene {
    struct replay r;
    struct remedy remedy;
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

static struct replay_job *runs(struct scene *s, uint32_t domain, uint32_t size, int64_t since, int64_t end)
{
    struct replay_job *job = replay_add_running(&s->r, -since * MIN, 0, domain, 0, size,
                                                end == FORECAST_UNKNOWN ? end : end * MIN);

    job->claim.ns = 0;
    return job;
}

/* For the first claim of the last plan. What the engine cannot know from a job is set in its input. */
static bool find(struct scene *s, enum remedy_kind kind)
{
    return remedy_find(&s->r.input, forecast_plan_of(s->r.forecast), 0, kind, LEAST_RUN, &s->remedy);
}

static void set_restartable(struct scene *s, size_t number, int64_t checkpoint)
{
    s->r.running[number].is_restartable = true;
    s->r.running[number].restart_s = 4 * MIN;
    s->r.running[number].checkpoint_s = -checkpoint * MIN;
}

static struct replay_job *preemptor_waits(struct scene *s)
{
    struct replay_job *job;

    runs(s, 0, 64, 100, FORECAST_UNKNOWN);
    runs(s, 1, 64, 200, FORECAST_UNKNOWN);
    job = replay_add_job(&s->r, 0, 64, 60 * MIN);
    job->claim.priority = 100;
    replay_plan(&s->r, 0);
    set_restartable(s, 0, 5);
    set_restartable(s, 1, 200);
    return job;
}

TEST_F(scene, s, the_job_that_loses_least_work_is_preempted)
{
    preemptor_waits(s);
    CHECK(find(s, REMEDY_PREEMPTION));
    CHECK_INT_EQ(s->remedy.victim_count, 1);
    CHECK_INT_EQ(s->remedy.victims[0], 0);
    CHECK_INT_EQ(s->remedy.cost_ipu_s, 64 * (5 + 4) * MIN);
    CHECK_INT_EQ(s->remedy.block.domain, 0);
    s->r.running[0].is_restartable = false;
    CHECK(find(s, REMEDY_PREEMPTION));
    CHECK_INT_EQ(s->remedy.cost_ipu_s, 64 * (200 + 4) * MIN);
    s->r.running[1].priority = 100;
    CHECK(!find(s, REMEDY_PREEMPTION));
}

TEST_F(scene, s, who_has_just_started_is_not_preempted)
{
    preemptor_waits(s);
    s->r.running[0].start_s = -9 * MIN;
    s->r.running[1].start_s = -10 * MIN;
    CHECK(find(s, REMEDY_PREEMPTION));
    CHECK_INT_EQ(s->remedy.victims[0], 1);
    s->r.running[1].start_s = -9 * MIN;
    CHECK(!find(s, REMEDY_PREEMPTION));
}

static void fragment(struct scene *s)
{
    runs(s, 0, 4, 100, 300);
    runs(s, 1, 4, 10, 300);
    replay_add_job(&s->r, 0, 64, 60 * MIN);
}

TEST_F(scene, s, a_small_job_that_fits_elsewhere_is_advised_to_restart)
{
    fragment(s);
    replay_plan(&s->r, 0);
    CHECK_INT_EQ(forecast_plan_of(s->r.forecast)->verdicts[0].cause, FORECAST_FRAGMENTED);
    set_restartable(s, 0, 100);
    set_restartable(s, 1, 10);
    CHECK(!find(s, REMEDY_PREEMPTION)); /* of the same priority */
    CHECK(find(s, REMEDY_DEFRAGMENTATION));
    CHECK_INT_EQ(s->remedy.victims[0], 1);
    CHECK_INT_EQ(s->remedy.cost_ipu_s, 4 * (10 + 4) * MIN);
    CHECK_INT_EQ(s->remedy.gain_ipu_s, 64 * 300 * MIN);
    CHECK(s->remedy.is_agreed);
    s->r.running[1].is_restartable = false;
    CHECK(find(s, REMEDY_DEFRAGMENTATION) && !s->remedy.is_agreed);
    s->r.running[1].restart_s = 10000 * MIN; /* now the other one is cheaper */
    CHECK(find(s, REMEDY_DEFRAGMENTATION) && s->remedy.victims[0] == 0);
    s->r.running[0].restart_s = 10000 * MIN;
    CHECK(!find(s, REMEDY_DEFRAGMENTATION)); /* not worth it */
}

TEST_F(scene, s, the_advice_is_withdrawn_when_followers_use_the_room)
{
    struct replay_job *j2, *j3;

    fragment(s);
    j2 = replay_add_job(&s->r, 0, 32, 250 * MIN);
    j3 = replay_add_job(&s->r, 0, 32, 400 * MIN);
    replay_plan(&s->r, 0);
    CHECK_INT_EQ(j2->block.domain, 0);
    CHECK_INT_EQ(j3->block.domain, 1);
    CHECK(!find(s, REMEDY_DEFRAGMENTATION));
}

TEST_F(scene, s, a_victim_that_fits_nowhere_else_is_not_advised)
{
    runs(s, 0, 64, 100, 300);
    runs(s, 1, 4, 100, 300);
    replay_add_job(&s->r, 0, 64, 60 * MIN);
    replay_plan(&s->r, 0);
    CHECK(!find(s, REMEDY_DEFRAGMENTATION));
}
