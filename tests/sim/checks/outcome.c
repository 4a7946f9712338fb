#include "checks/outcome.h"

#include <string.h>

#include "base/core/mem.h"
#include "checks/invariants.h"
#include "checks/queue_order.h"
#include "checks/status_guarantees.h"
#include "checks/records.h"

bool outcome_is_end(const char *state)
{
    return str_eq(state, "Completed") || str_eq(state, "Failed");
}

bool outcome_is_rejection(const cJSON *job)
{
    static const char *const reasons[] = {"InvalidSpec", "InvalidPodTemplate"};

    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        if (str_eq(json_str(job, "status/reason", ""), reasons[i]))
            return true;
    }
    return false;
}

/* ---- as it goes on ---- */

/* All of its instances run, says its status. */
static void check_running(struct world *world, const struct user_job *job, const cJSON *doc)
{
    size_t wanted = (size_t)json_i64(doc, "spec/jobInstances", 0), held;

    if (world_is_large(world) || !str_eq(json_str(doc, "status/reason", ""), "Running") ||
        json_at(doc, "status/completedIndexes") || json_at(doc, "status/failedIndexes"))
        return;
    /* The answer to a change may be lost, and its event late: the status is then by the record before. */
    held = records_count(world, job->uid, !world_is_calm(world));
    if (held < wanted &&
        json_i64(doc, "metadata/generation", 0) == json_i64(doc, "status/observedGeneration", 0))
        world_break(world, OWNED, "job %s says that it runs, and has %zu of %zu partitions", job->name, held,
                    wanted);
}

void outcome_changed(struct world *world, struct user_job *job, const cJSON *doc)
{
    const char *state = json_str(doc, "status/launcherStatus", "");

    if (job->ended && !outcome_is_end(state) && !str_eq(state, "Terminating"))
        world_break(world, AN_END, "job %s was %s and is %s", job->name, job->ended, state);
    check_running(world, job, doc);
    if (outcome_is_end(state) && !outcome_is_rejection(doc))
        job->ended = str_eq(state, "Completed") ? "Completed" : "Failed";
}

/* ---- at rest ---- */

static bool is_among(const char *state, const char *ends)
{
    const char *found = strstr(ends, state);

    return *state && found != NULL;
}

static bool ends_well(const struct world *world, const struct user_job *job, const cJSON *doc)
{
    const char *state = json_str(doc, "status/launcherStatus", "");

    if (is_among(state, job->kind->ends) || queue_order_is_right(world, doc))
        return true;
    if (records_are_stuck(world, job->name))
        return outcome_is_end(state) || str_eq(json_str(doc, "status/reason", ""), "ControllerUnavailable");
    return !world_is_calm(world) && outcome_is_end(state);
}

static void check_end(struct world *world, const struct user_job *job, const struct api_object *object)
{
    const char *state = json_str(object ? object->doc : NULL, "status/launcherStatus", "");

    if (!object && *job->kind->ends == '\0')
        return;
    if (!object) {
        world_break(world, AN_END, "job %s has gone", job->name);
        return;
    }
    if (!ends_well(world, job, object->doc))
        world_break(
            world, world->lost ? NONE_BLOCKED : AN_END, "job %s (%s) is %s, not %s: %s (%s)", job->name,
            job->kind->name, *state ? state : "without a state", *job->kind->ends ? job->kind->ends : "gone",
            json_str(object->doc, "status/lastMessage", ""), json_str(object->doc, "status/reason", ""));
    status_guarantees_at_rest(world, job, object->doc);
}

/* Pods per job, by its name. */
static void count_pods(struct world *world, struct map *ret)
{
    void *value;

    for (size_t i = 0; map_next(api_objects(&world->api, "pods"), &i, NULL, &value);) {
        const char *job =
            json_str(((const struct api_object *)value)->doc, "metadata/labels/graphcore.ai~1job-name", "");

        map_set(ret, job, (void *)((uintptr_t)map_get(ret, job) + 1));
    }
}

static void check_pods(struct world *world, const struct user_job *job, const struct api_object *object,
                       size_t pods)
{
    if (!object || json_at(object->doc, "metadata/deletionTimestamp")) /* a deletion takes the pods along */
        return;
    if (str_eq(json_str(object->doc, "spec/cleanPodPolicy", ""), "All") && job->ended && pods)
        world_break(world, READABLE, "job %s has ended, and %zu of its pods are still there", job->name,
                    pods);
    if (world_is_calm(world) && !json_at(object->doc, "spec/cleanPodPolicy") && job->ended && !pods &&
        job->kind->pods <= PODS_RUN_FOR_EVER && job->kind->user != USER_KILLS_PODS &&
        !records_are_stuck(world, job->name)) /* without its controller it has had none */
        world_break(world, READABLE, "job %s has ended, and its pods have gone", job->name);
}

void outcome_at_rest(struct world *world)
{
    struct map pods = {0};

    count_pods(world, &pods);
    for (size_t i = 0; i < world->job_count; i++) {
        const struct user_job *job = &world->jobs[i];
        const struct api_object *object = api_find(&world->api, "ipujobs", WORLD_NS, job->name);

        check_end(world, job, object);
        check_pods(world, job, object, (uintptr_t)map_get(&pods, job->name));
    }
    map_release(&pods);
}
