#include "world/world.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "checks/invariants.h"
#include "checks/programs.h"
#include "fakes/loop.h"

/* Longer than anything that is waited for: a stray write and then the hold, a back-off. */
#define AT_REST_MS 320000
/* Enough for all pods that run forever in a world of twenty jobs, and for one more of the largest. */
#define QUOTA_PODS 12
#define LIMIT_MS (90 * 60000)

void world_break(struct world *world, const char *invariant, const char *fmt, ...)
{
    AUTO(mem) char *text = NULL;
    va_list args;

    if (world->broken)
        return;
    va_start(args, fmt);
    text = mem_vprintf(fmt, args);
    va_end(args);
    world->broken = mem_printf("invariant %s: %s, after %lld ms", invariant, text,
                               (long long)(clock_now_ms() - world->began_ms));
}

bool world_is_large(const struct world *world)
{
    return world->job_count > 200;
}

bool world_is_calm(const struct world *world)
{
    return world->options.is_calm && !world->options.crash_at;
}

bool world_is_prompt(const struct world *world)
{
    return world->storm.late == 0 && world->storm.twice == 0;
}

/* ---- processes ---- */

static void start_creation(struct world *world, size_t index)
{
    AUTO(mem) char *name = mem_printf("operator-%zu-%u", index, ++world->incarnations);

    world->processes[index] = process_new(
        &(struct process_options){.name = name,
                                  .controllers = &world->controllers,
                                  .hold_ms = WORLD_HOLD_MS,
                                  .policy = world->options.policy,
                                  .has_preemption = world->options.has_preemption,
                                  .ipu_quota = world->options.ipu_quota,
                                  .instance_quota = world->options.instance_quota,
                                  .watch_ns = world->options.has_one_namespace ? WORLD_NS : NULL});
}

static void on_creation_0(void *ctx)
{
    ((struct world *)ctx)->creations[0] = NULL;
    start_creation(ctx, 0);
}

static void on_creation_1(void *ctx)
{
    ((struct world *)ctx)->creations[1] = NULL;
    start_creation(ctx, 1);
}

static clock_fn const ON_BIRTH[WORLD_PROCESSES] = {on_creation_0, on_creation_1};

void world_kill(struct world *world, size_t index, int64_t away_ms)
{
    process_free(TAKE(world->processes[index]));
    if (away_ms >= 0)
        world->creations[index] = clock_plan(away_ms, NULL, ON_BIRTH[index], world);
}

/* Between two steps, because an operator must not be freed inside its own call. */
static void reap(struct world *world)
{
    for (size_t i = 0; i < WORLD_PROCESSES; i++) {
        struct process *process = world->processes[i];

        if (process && (process_has_ended(process) || process_host(process)->is_dead))
            world_kill(world, i, dice_between(100, 5000));
    }
}

static bool on_leave(void *ctx, struct host *host, const char *what, bool is_write)
{
    struct world *world = ctx;

    if (!is_write)
        return true;
    world->writes++;
    invariants_write_leaves(world, host, what);
    if (world->writes != world->options.crash_at)
        return true;
    host->is_dead = true;
    return world->options.crash_moment == CRASH_AFTER;
}

/* ---- what happens is checked ---- */

static void on_request(void *ctx, const struct api_request *request)
{
    invariants_request(ctx, request);
}

static void on_vipu_write(void *ctx, struct sim_vipu *side, const struct vipu_order *order)
{
    invariants_vipu_write(ctx, side, order);
}

static const char *record_of(void *ctx, const char *id)
{
    const struct world *world = ctx;
    const struct api_object *record = api_find(&world->api, "configmaps", WORLD_OPERATOR_NS, id);

    return record ? record->uid : NULL;
}

static void on_start(void *ctx, const struct node_process *node_process)
{
    invariants_start(ctx, node_process);
}

/* It ends when an operator that starts now would take it over. */
static void note_lease(struct world *world, const cJSON *lease)
{
    mem_set_str(&world->leader, json_str(lease, "spec/holderIdentity", NULL));
    world->lease_ends_ms = clock_now_ms() + json_i64(lease, "spec/leaseDurationSeconds", 0) * 1000;
}

static void on_change(void *ctx, enum api_change_type type, const struct api_object *object)
{
    struct world *world = ctx;

    if (str_eq(object->kind->plural, "leases"))
        note_lease(world, object->doc);
    cluster_saw(&world->cluster, type, object);
    invariants_change(world, type, object);
}

static void on_pod_rejected(void *ctx, const cJSON *pod)
{
    invariants_pod_rejected(ctx, pod);
}

/* ---- life ---- */

/* So many IPU-Machines of four IPUs each, divided evenly over the domains. */
static void make_side(struct sim_vipu *side, const char *name, unsigned domains, unsigned machines)
{
    AUTO(mem)
    char *config = mem_printf("create-ms: 300\nremove-ms: 200\nreset-ms: 250\nauto-reset-ms: 1000\n"
                              "auto-reset-retries: 0\n"
                              "clusters: [{id: cl1, ipulink-domains: %u, agents: %u}]\n",
                              domains, machines);

    sim_vipu_init(side, name, config);
}

static void make_foreign(struct world *world, size_t side)
{
    struct vipu_requirements want = {.id = side ? "foreign-b" : "foreign-a", .size = 4};
    AUTO(strv) struct strv problems = {0};
    struct err err = {0};
    bool made = controller_create(&world->sides[side].core, &want, clock_now_ms(), &problems, &err);

    assert(made);
    (void)made;
    world->foreign_numbers[side] = controller_find(&world->sides[side].core, want.id, &err)->number;
}

struct world *world_new(const struct world_options *options)
{
    struct world *world = NEW(struct world);
    AUTO(strv) struct strv problems = {0};
    unsigned domains = 1 + options->jobs / 40;

    clock_begin(options->seed);
    world->options = *options;
    world->began_ms = clock_now_ms();
    world->server = loop_new();
    api_init(&world->api, world->server);
    world->api.hook = on_change;
    world->api.on_pod_rejected = on_pod_rejected;
    world->api.hook_ctx = world;
    world->api.pods_max = options->has_quota ? QUOTA_PODS : 0;
    make_side(&world->sides[0], "vipu-a:8090", domains, 16 * domains);
    make_side(&world->sides[1], "vipu-b:8090", 1, 4);
    for (size_t i = 0; i < COUNT_OF(world->sides); i++)
        world->sides[i].chooses = options->has_own_places;
    pool_config_add_text(&world->controllers, "vipu-a:8090,vipu-b:8090:pool=b", &problems);
    world->net = (struct net){.api = &world->api,
                              .sides = world->sides,
                              .side_count = COUNT_OF(world->sides),
                              .lists_are_news = !options->is_calm,
                              .leaves = on_leave,
                              .on_request = on_request,
                              .on_vipu_write = on_vipu_write,
                              .record_of = record_of,
                              .ctx = world};
    net = &world->net;
    world->cluster.habit_of = world_habit;
    world->cluster.on_start = on_start;
    world->cluster.ctx = world;
    world->cluster.no_deadlines_permille = options->is_calm ? 0 : 20;
    cluster_init(&world->cluster, &world->api);
    cluster_add_node(&world->cluster, "node-1", NULL, NULL);
    cluster_add_node(&world->cluster, "node-2", "pool", "b");
    for (size_t i = 0; i < COUNT_OF(world->sides); i++)
        make_foreign(world, i);
    world_plan_trouble(world);
    world_plan_users(world);
    for (size_t i = 0; i < WORLD_PROCESSES; i++)
        start_creation(world, i);
    return world;
}

void world_free(struct world *world)
{
    for (size_t i = 0; i < WORLD_PROCESSES; i++)
        process_free(world->processes[i]);
    world_users_release(world);
    net_drop_messages(&world->net);
    net_drop_rpc_messages(&world->net);
    cluster_release(&world->cluster);
    for (size_t i = 0; i < COUNT_OF(world->sides); i++)
        sim_vipu_release(&world->sides[i]);
    api_release(&world->api);
    loop_free(world->server);
    pool_config_release(&world->controllers);
    progress_release(&world->progress);
    programs_release(world);
    clock_end();
    mem_free(world->leader);
    mem_free(world->broken);
    mem_free(world);
}

static uint64_t work_done(const struct world *world)
{
    return world->api.writes + world->api.idle_writes + world->vipu_writes;
}

/* Jobs that cannot start give their IPUs to each other for ever. */
static bool may_never_rest(const struct world *world)
{
    size_t count = 0;

    for (size_t i = 0; i < world->job_count; i++)
        count += world->jobs[i].kind->pods == PODS_CANNOT_PULL && *world->jobs[i].kind->ends;
    return count > 1;
}

/* Until nothing has been written for so long; false: something is broken, or it never comes to rest. */
static bool run_to_rest(struct world *world, int64_t at_least_until_ms)
{
    uint64_t before = 0;
    int64_t since_ms = clock_now_ms();

    while (!world->broken && clock_step()) {
        invariants_step(world);
        reap(world);
        if (work_done(world) != before) {
            before = work_done(world);
            since_ms = clock_now_ms();
        }
        if (clock_now_ms() >= at_least_until_ms && clock_now_ms() - since_ms >= AT_REST_MS)
            return !world->broken;
        if (clock_now_ms() - world->began_ms <= LIMIT_MS)
            continue;
        if (may_never_rest(world))
            return false;
        world_break(world, AN_END, "the world does not come to rest");
    }
    return false;
}

static bool restart(struct world *world)
{
    for (size_t i = 0; i < WORLD_PROCESSES; i++) {
        clock_cancel(TAKE(world->creations[i]));
        world_kill(world, i, 0);
    }
    return run_to_rest(world, clock_now_ms() + AT_REST_MS);
}

/* Time alone changes what is expected: how often that is written is checked with each write. */
static uint64_t other_work_done(const struct world *world)
{
    return work_done(world) - world->forecast_writes;
}

/* What a new process reads is what the old one has seen last: it has nothing to do. Only that a quota
 * rejected a pod is in no object: a waiting job's message loses that cause, once. */
static void check_restart(struct world *world)
{
    uint64_t before;

    if (world->options.has_quota && !restart(world))
        return;
    before = other_work_done(world);
    if (restart(world) && other_work_done(world) != before)
        world_break(world, NOTHING_AGAIN, "an operator that starts with everything at rest writes %llu times",
                    (unsigned long long)(other_work_done(world) - before));
}

void world_run(struct world *world)
{
    int64_t users_are_done_ms = world->began_ms + 300000;
    int64_t least = world->storm_ends_ms > users_are_done_ms ? world->storm_ends_ms : users_are_done_ms;

    if (!run_to_rest(world, least))
        return;
    invariants_at_rest(world);
    job_caches_at_rest(world);
    if (!world->broken && !world->lost) /* whose failure a new one reports again */
        check_restart(world);
}
