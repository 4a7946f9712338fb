#include "operator/forecast/plan/remedy.h"

#include "base/core/mem.h"
#include "lib/check.h"
#include "random_input.h"
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

TEST_F(scene, s, who_is_leaving_anyway_costs_nothing)
{
    preemptor_waits(s);
    s->r.running[1].is_leaving = true;
    s->r.running[1].is_restartable = false;
    s->r.running[1].priority = 100;
    CHECK(find(s, REMEDY_PREEMPTION));
    CHECK_INT_EQ(s->remedy.victims[0], 1);
    CHECK_INT_EQ(s->remedy.cost_ipu_s, 0);
    CHECK(s->remedy.is_agreed);
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

/* The first block has two jobs of 8 IPUs, the second one of 8 and one of 4; outside there is room for the
 * latter only. */
TEST_F(scene, s, a_block_that_cannot_be_freed_leaves_its_room_to_the_next)
{
    static const struct {
        uint32_t domain, first, size;
        bool may_move;
    } rows[] = {{0, 0, 8, true},    {0, 8, 8, true},   {0, 16, 8, true},   {0, 24, 4, true},
                {0, 32, 32, false}, {1, 0, 32, false}, {1, 32, 16, false}, {1, 48, 4, false}};

    CHECK_ROWS (row, rows)
        replay_add_running(&s->r, -100 * MIN, 0, row->domain, row->first, row->size, 300 * MIN)->claim.ns =
            row->may_move ? 0 : FORECAST_NONE;
    replay_add_job(&s->r, 0, 16, 60 * MIN);
    replay_plan(&s->r, 0);
    CHECK(find(s, REMEDY_DEFRAGMENTATION));
    CHECK_INT_EQ(s->remedy.victim_count, 2);
    CHECK_INT_EQ(s->remedy.victims[0], 2);
    CHECK_INT_EQ(s->remedy.victims[1], 3);
}

/* ---- against trying everything ---- */

#define EXEMPT 2000

/* What occupies each IPU: an index of running[]... */
#define NOTHING -1
#define STARTS -2  /* a claim that starts now */
#define MISSING -3 /* no such IPU, or it has failed */

static int owners[3][8][64];

static void put(uint32_t c, const struct forecast_block *block, int owner)
{
    for (uint32_t d = block->domain; d < block->domain + block->domain_count; d++)
        for (uint32_t i = 0; i < 64; i++)
            if (block->ipus >> i & 1 && owners[c][d][i] != MISSING)
                owners[c][d][i] = owner;
}

static void lay_out(const struct forecast_input *input, const struct forecast_plan *plan)
{
    for (uint32_t c = 0; c < input->controller_count; c++)
        for (uint32_t d = 0; d < 8; d++)
            for (uint32_t i = 0; i < 64; i++)
                owners[c][d][i] =
                    d < input->controllers[c].domain_count && input->controllers[c].domains[d] >> i & 1
                        ? NOTHING
                        : MISSING;
    for (size_t i = 0; i < input->running_count; i++)
        put(input->running[i].controller, &input->running[i].block, (int)i);
    for (size_t i = 0; i < plan->start_count; i++)
        put(plan->starts[i].controller, &plan->starts[i].block, STARTS);
}

static bool may_be_preempted(const struct forecast_input *input, size_t i, const struct forecast_claim *by)
{
    const struct forecast_running *it = &input->running[i];

    return it->is_restartable && it->priority < by->priority && it->ns < FORECAST_NONE &&
           input->now_s - it->start_s >= EXEMPT;
}

/* The cost of the block of `size` IPUs that begins at IPU `first` of the domain; UINT64_MAX: it cannot be
 * had, or holds nobody. */
static uint64_t cost_of(const struct forecast_input *input, const struct forecast_plan *plan, size_t claim,
                        uint32_t c, uint32_t domain, uint32_t first)
{
    uint32_t size = input->claims[claim].size;
    bool counted[RANDOM_RUNNING] = {false};
    uint64_t cost = 0;
    bool holds_anybody = false;

    if (domain + (first + size - 1) / 64 >= input->controllers[c].domain_count)
        return UINT64_MAX;
    for (uint32_t i = first; i < first + size; i++) {
        int owner = owners[c][domain + i / 64][i % 64];

        for (size_t k = 0; k < plan->reserved_count; k++) {
            const struct forecast_reservation *kept = &plan->reserved[k];
            uint32_t d = domain + i / 64;

            if (kept->claim != claim && kept->controller == c && d >= kept->block.domain &&
                d < kept->block.domain + kept->block.domain_count && kept->block.ipus >> i % 64 & 1)
                return UINT64_MAX;
        }
        if (owner == NOTHING)
            continue;
        if (owner < 0 || !may_be_preempted(input, (size_t)owner, &input->claims[claim]))
            return UINT64_MAX;
        holds_anybody = true;
        if (!counted[owner])
            cost +=
                input->running[owner].size * ((uint64_t)(input->now_s - input->running[owner].checkpoint_s) +
                                              input->running[owner].restart_s);
        counted[owner] = true;
    }
    return holds_anybody ? cost : UINT64_MAX;
}

static uint64_t least_cost(const struct forecast_input *input, const struct forecast_plan *plan, size_t claim)
{
    const struct forecast_claim *it = &input->claims[claim];
    uint64_t least = UINT64_MAX;

    for (uint32_t c = 0; c < input->controller_count; c++)
        for (uint32_t d = 0; d < input->controllers[c].domain_count; d++)
            for (uint32_t first = 0; first < 64; first += it->size) {
                bool is_eligible = it->eligible >> c & 1 && input->controllers[c].is_usable;
                uint64_t cost = is_eligible ? cost_of(input, plan, claim, c, d, first) : UINT64_MAX;

                least = cost < least ? cost : least;
            }
    return least;
}

static void check_remedy(const struct forecast_input *input, size_t claim, const struct remedy *remedy)
{
    const struct forecast_claim *it = &input->claims[claim];
    uint64_t ipus = 0;

    for (uint32_t i = 0; i < remedy->victim_count; i++) {
        CHECK(may_be_preempted(input, remedy->victims[i], it));
        put(remedy->controller, &input->running[remedy->victims[i]].block, NOTHING);
    }
    for (uint32_t d = remedy->block.domain; d < remedy->block.domain + remedy->block.domain_count; d++)
        for (uint32_t i = 0; i < 64; i++)
            if (remedy->block.ipus >> i & 1) {
                CHECK_INT_EQ(owners[remedy->controller][d][i], NOTHING);
                ipus++;
            }
    CHECK_INT_EQ(ipus, it->size);
    CHECK(it->size >= 64 || (uint32_t)__builtin_ctzll(remedy->block.ipus) % it->size == 0);
}

/* Sizes of which a controller can make a partition; the lower half of the jobs may be ended. */
TEST(the_cheapest_block_of_all_is_freed)
{
    static struct random_input r;
    int found = 0, none = 0;

    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct forecast *f;
        const struct forecast_plan *plan;

        random_input_init(&r, seed, 1 + seed % 3, (enum forecast_policy)(seed % 3));
        for (size_t i = 0; i < r.input.running_count; i++) {
            r.running[i].priority = (int32_t)(r.running[i].uid % 3);
            r.running[i].checkpoint_s += (int64_t)(r.running[i].uid % 500);
            r.running[i].checkpoint_s =
                r.running[i].checkpoint_s > r.input.now_s ? r.input.now_s : r.running[i].checkpoint_s;
        }
        f = forecast_new(&r.input);
        plan = forecast_plan_of(f);
        for (size_t i = 0; i < r.input.claim_count; i++) {
            uint32_t size = r.claims[i].size;
            struct remedy remedy;
            uint64_t least;

            if (plan->verdicts[i].started || size & (size - 1) || size > 128)
                continue;
            lay_out(&r.input, plan);
            least = least_cost(&r.input, plan, i);
            if (remedy_find(&r.input, plan, (uint32_t)i, REMEDY_PREEMPTION, EXEMPT, &remedy)) {
                CHECK(remedy.cost_ipu_s == least);
                check_remedy(&r.input, i, &remedy);
                found++;
            } else {
                CHECK(least == UINT64_MAX);
                none++;
            }
        }
        forecast_free(f);
    }
    CHECK(found > 500 && none > 500);
}
