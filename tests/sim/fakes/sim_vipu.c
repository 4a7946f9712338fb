#include "fakes/sim_vipu.h"

#include <assert.h>

#include "base/core/mem.h"
#include "fakes/clock.h"

static unsigned count_machines(const struct vipu_clusters *clusters)
{
    unsigned machines = 0;

    for (size_t i = 0; i < clusters->count; i++) {
        for (size_t d = 0; d < clusters->items[i].domain_count; d++)
            machines += clusters->items[i].domains[d].machine_count;
    }
    return machines;
}

void sim_vipu_init(struct sim_vipu *side, const char *name, const char *config)
{
    AUTO(strv) struct strv problems = {0};
    bool is_sound = server_config_parse(slice_of(config), name, &side->config, &problems);

    assert(is_sound);
    (void)is_sound;
    side->name = mem_strdup(name);
    side->machines = count_machines(&side->config.clusters);
    controller_init(&side->core, &side->config.clusters, side->config.times,
                    side->config.max_auto_reset_retries);
    side->core.unix_offset_ms = clock_unix_s() * 1000 - clock_now_ms();
}

void sim_vipu_release(struct sim_vipu *side)
{
    controller_release(&side->core);
    faults_release(&side->faults);
    server_config_release(&side->config);
    mem_free(side->name);
}

static bool is_foreign(const struct controller_partition *entry)
{
    return str_has_prefix(entry->partition.id, "foreign");
}

static void remove_one(struct sim_vipu *side, const struct controller_partition *entry)
{
    AUTO(mem) char *id = mem_strdup(entry->partition.id);
    struct err err = {0};

    (void)!controller_remove(&side->core, id, true, clock_now_ms(), &err);
}

void sim_vipu_remove_partition(struct sim_vipu *side)
{
    const struct controller_partition *entry = side->core.first;

    if (!entry)
        return;
    for (uint32_t skip = dice_below((uint32_t)side->core.count); skip > 0; skip--)
        entry = entry->next;
    if (!is_foreign(entry))
        remove_one(side, entry);
}

void sim_vipu_forget(struct sim_vipu *side)
{
    for (struct controller_partition *entry = side->core.last; entry; entry = entry->previous)
        if (!is_foreign(entry))
            remove_one(side, entry);
}

void sim_vipu_set_faults(struct sim_vipu *side, const char *text)
{
    AUTO(strv) struct strv problems = {0};
    struct faults faults = {0};
    bool is_sound = faults_read(slice_of(text), side->name, &side->config.clusters, &faults, &problems);

    assert(is_sound);
    (void)is_sound;
    faults_release(&side->faults);
    side->faults = faults;
    faults_begin(&side->faults, clock_now_ms());
    controller_set_faults(&side->core, &side->faults, clock_now_ms());
}

void sim_vipu_fail(struct sim_vipu *side, uint32_t for_ms)
{
    AUTO(mem)
    char *text = mem_printf("{hardware: [{agent: ag%u, error: its fans stand still, for-ms: %u}]}",
                            1 + dice_below(side->machines), for_ms);

    sim_vipu_set_faults(side, text);
}

void sim_vipu_step(struct sim_vipu *side)
{
    (void)controller_step(&side->core, clock_now_ms());
}
