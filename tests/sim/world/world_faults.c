/* What goes wrong, by the seed: the fault_rates for single messages, and faults at certain times. */
#include "base/core/mem.h"
#include "world/world.h"

#define STORM_MS 240000
#define TRIAL_MS 2000

struct fault {
    struct world *world;
    void (*strike)(struct world *world);
};

static int process_at_random(const struct world *world)
{
    int index = (int)dice_below(WORLD_PROCESSES);

    return world->processes[index] ? index : -1;
}

static void crash(struct world *world)
{
    int index = process_at_random(world);

    if (index >= 0)
        world_kill(world, (size_t)index, dice_between(100, 15000));
}

static int64_t pause_ms(void)
{
    return dice_between(500, 40000);
}

static void pause_process(struct world *world)
{
    int index = process_at_random(world);

    if (index >= 0)
        process_host(world->processes[index])->paused_until_ms = clock_now_ms() + pause_ms();
}

void world_stop(struct world *world, const struct host *host)
{
    for (size_t i = 0; i < WORLD_PROCESSES; i++) {
        struct host *own = world->processes[i] ? process_host(world->processes[i]) : NULL;

        if (own == host)
            own->paused_until_ms = clock_now_ms() + pause_ms();
    }
}

static void api_away(struct world *world)
{
    world->net.api_down_until_ms = clock_now_ms() + dice_between(500, 25000);
}

static void compact(struct world *world)
{
    api_expire_history(&world->api);
}

static void writes_are_rejected(struct world *world)
{
    static const char *const plurals[] = {"pods",       "services",       "secrets",
                                          "configmaps", "endpointslices", "networkpolicies"};
    static const int codes[] = {403, 422, 500};

    world->api.rejection.plural = plurals[dice_below(COUNT_OF(plurals))];
    world->api.rejection.code = codes[dice_below(COUNT_OF(codes))];
    world->api.rejection.until_ms = clock_now_ms() + dice_between(500, 60000);
    world->api.rejection.spares_dry_runs = dice_permille(500);
}

static struct sim_vipu *side_at_random(struct world *world)
{
    return &world->sides[dice_below((uint32_t)world->net.side_count)];
}

static void vipu_away(struct world *world)
{
    side_at_random(world)->down_until_ms = clock_now_ms() + dice_between(500, 60000);
}

static void vipu_stalls(struct world *world)
{
    side_at_random(world)->stalled_until_ms = clock_now_ms() + dice_between(500, 60000);
}

static void partition_goes(struct world *world)
{
    world->is_tampered = true;
    sim_vipu_remove_partition(side_at_random(world));
}

static void vipu_forgets(struct world *world)
{
    world->is_tampered = true;
    sim_vipu_forget(side_at_random(world));
}

static void machine_fails(struct world *world)
{
    world->is_tampered = true;
    sim_vipu_fail(side_at_random(world), (uint32_t)dice_between(500, 60000));
}

static void node_away(struct world *world)
{
    cluster_break_node(&world->cluster, dice_below((uint32_t)world->cluster.node_count), NODE_IS_UNREACHABLE,
                       dice_between(1000, 250000), false);
}

static void node_crashes(struct world *world)
{
    cluster_break_node(&world->cluster, dice_below((uint32_t)world->cluster.node_count), NODE_HAS_CRASHED,
                       dice_between(10000, 150000), dice_permille(500));
}

/* Those from PARTITION_FAULTS on only in worlds that are tampered with. */
static void (*const FAULTS[])(struct world *) = {
    crash,       crash,     pause_process, pause_process,       api_away,       compact,      vipu_away,
    vipu_stalls, node_away, node_crashes,  writes_are_rejected, partition_goes, vipu_forgets, machine_fails};
#define PARTITION_FAULTS 11u

static void on_blow(void *ctx)
{
    struct fault *fault = ctx;

    fault->strike(fault->world);
    net->news++;
    mem_free(fault);
}

static void lose_controller(void *ctx)
{
    struct world *world = ctx;
    struct sim_vipu *side = &world->sides[1];

    *(dice_permille(500) ? &side->down_until_ms : &side->stalled_until_ms) = INT64_MAX;
    world->lost = side;
    net->news++;
}

static void on_calm(void *ctx)
{
    struct world *world = ctx;

    world->net.fault_rates = (struct fault_rates){0};
    world->api.stale_permille = 0;
    world->api.rejection.until_ms = 0;
}

static unsigned some(unsigned most)
{
    return dice_permille(400) ? dice_below(most + 1) : 0;
}

void world_plan_trouble(struct world *world)
{
    unsigned faults = dice_below(10);
    unsigned kinds = world->options.is_tampered_with ? COUNT_OF(FAULTS) : PARTITION_FAULTS;

    world->net.trial_ms = world->options.seed % 2 ? TRIAL_MS : 0;
    world->api.no_stream_lists = dice_permille(300);
    world->api.page_limit = dice_permille(500) ? (unsigned)dice_between(1, 8) : 0;
    if (world->options.loses_controller)
        clock_plan(dice_between(1, ARRIVALS_MS), NULL, lose_controller, world);
    if (world->options.is_calm)
        return;
    world->storm_ends_ms = clock_now_ms() + STORM_MS;
    world->api.stale_permille = some(500);
    world->storm = (struct fault_rates){
        .lost = some(40),
        .mute = some(40),
        .late = some(40),
        .twice = some(40),
        .busy = some(60),
        .broken = some(20),
        .stalled = some(4),
        .gone = some(10),
        .behind = some(300),
        .stopped = some(5),
    };
    world->net.fault_rates = world->storm;
    for (unsigned i = 0; i < faults; i++) {
        struct fault *fault = NEW(struct fault);

        *fault = (struct fault){.world = world, .strike = FAULTS[dice_below(kinds)]};
        clock_plan(dice_between(1000, STORM_MS), NULL, on_blow, fault);
    }
    clock_plan(STORM_MS, NULL, on_calm, world);
}
