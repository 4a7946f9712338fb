/* What an operator remembers of jobs, at rest: nothing of those that have gone with all their records. */
#include "checks/invariants.h"

static bool is_known(void *ctx, const char *uid)
{
    struct world *world = ctx;
    void *value;

    for (size_t i = 0; map_next(api_objects(&world->api, "ipujobs"), &i, NULL, &value);) {
        if (str_eq(((const struct api_object *)value)->uid, uid))
            return true;
    }
    for (size_t i = 0; map_next(api_objects(&world->api, "configmaps"), &i, NULL, &value);) {
        if (str_eq(json_str(((const struct api_object *)value)->doc, "data/jobUid", ""), uid))
            return true;
    }
    return false;
}

void job_caches_at_rest(struct world *world)
{
    for (size_t i = 0; i < WORLD_PROCESSES; i++) {
        const struct process *process = world->processes[i];
        const char *uid = process ? process_remembers(process, is_known, world) : NULL;

        if (uid)
            world_break(world, FORGOTTEN, "the job with uid %s has gone, and an operator remembers it", uid);
    }
}
