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
    controller_init(&side->core, &side->config.clusters, TIMES, 0);
    side->core.unix_offset_ms = clock_unix_s() * 1000 - clock_now_ms();
}

void vipu_side_release(struct vipu_side *side)
{
    controller_release(&side->core);
    server_config_release(&side->config);
    mem_free(side->name);
}

void vipu_side_step(struct vipu_side *side)
{
    (void)controller_step(&side->core, clock_now_ms());
}
