#include "vipu_side.h"

#include <assert.h>

#include "base/core/mem.h"
#include "clock.h"

static const struct controller_times TIMES = {
    .create_ms = 300, .remove_ms = 200, .reset_ms = 250, .auto_reset_ms = 1000, .removed_ms = 0};

void vipu_side_init(struct vipu_side *side, const char *name, unsigned domains, unsigned machines)
{
    AUTO(strv) struct strv problems = {0};
    AUTO(mem)
    char *text = mem_printf("clusters: [{id: cl1, ipulink-domains: %u, agents: %u}]", domains, machines);
    bool is_sound = server_config_parse(slice_of(text), name, &side->config, &problems);

    assert(is_sound);
    (void)is_sound;
    side->name = mem_strdup(name);
    side->machines = machines;
    controller_init(&side->core, &side->config.clusters, TIMES, 0);
    side->core.unix_offset_ms = clock_unix_s() * 1000 - clock_now_ms();
}

void vipu_side_release(struct vipu_side *side)
{
    controller_release(&side->core);
    faults_release(&side->faults);
    server_config_release(&side->config);
    mem_free(side->name);
}

static bool is_foreign(const struct held *held)
{
    return str_has_prefix(held->partition.id, "foreign");
}

static void remove_one(struct vipu_side *side, const struct held *held)
{
    AUTO(mem) char *id = mem_strdup(held->partition.id);
    struct err err = {0};

    (void)!controller_remove(&side->core, id, true, clock_now_ms(), &err);
}

void vipu_side_rob(struct vipu_side *side)
{
    const struct held *held =
        side->core.count ? side->core.list[dice_below((uint32_t)side->core.count)] : NULL;

    if (held && !is_foreign(held))
        remove_one(side, held);
}

void vipu_side_forget(struct vipu_side *side)
{
    for (size_t i = side->core.count; i-- > 0;) {
        if (i < side->core.count && !is_foreign(side->core.list[i]))
            remove_one(side, side->core.list[i]);
    }
}

void vipu_side_fail(struct vipu_side *side, uint32_t for_ms)
{
    AUTO(strv) struct strv problems = {0};
    AUTO(mem)
    char *text = mem_printf("{hardware: [{agent: ag%u, error: its fans stand still, for-ms: %u}]}",
                            1 + dice_below(side->machines), for_ms);
    struct faults faults = {0};
    bool is_sound = faults_read(slice_of(text), side->name, &side->config.clusters, &faults, &problems);

    assert(is_sound);
    (void)is_sound;
    faults_release(&side->faults);
    side->faults = faults;
    faults_begin(&side->faults, clock_now_ms());
    controller_set_faults(&side->core, &side->faults, clock_now_ms());
}

void vipu_side_step(struct vipu_side *side)
{
    (void)controller_step(&side->core, clock_now_ms());
}
