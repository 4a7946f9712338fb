#include "invariants.h"

#include <string.h>

#include "base/core/mem.h"
#include "promises.h"

/* ---- 6 ---- */

void invariants_write_leaves(struct world *world, const struct host *host, const char *what)
{
    if (!str_eq(world->leader, host->name))
        world_break(world, ONLY_LEADER, "%s sends %s, and the lease is held by %s", host->name, what,
                    world->leader ? world->leader : "nobody");
}

/* ---- 2 ---- */

static bool is_living_on(const struct sitting *s, const char *id)
{
    return s->is_alive && str_eq(s->partition, id);
}

static const struct sitting *find_living(const struct world *world, const char *id)
{
    void *value;

    for (size_t i = 0; map_next(&world->cluster.sittings, &i, NULL, &value);) {
        if (is_living_on(value, id))
            return value;
    }
    return NULL;
}

/* Each run begins on a partition that was made or reset for it. */
static void check_fresh(struct world *world, const struct sitting *sitting)
{
    const void *run = map_get(&world->used, sitting->partition);

    if (run && (uintptr_t)run != (uintptr_t)sitting->run + 1)
        world_break(world, NO_IPU_TWICE,
                    "pod %s (run %u) starts on partition %s, which was not reset since run %u", sitting->name,
                    sitting->run, sitting->partition, (unsigned)((uintptr_t)run - 1));
    map_set(&world->used, sitting->partition, (void *)((uintptr_t)sitting->run + 1));
}

void invariants_start(struct world *world, const struct sitting *sitting)
{
    void *value;

    check_fresh(world, sitting);
    for (size_t i = 0; map_next(&world->cluster.sittings, &i, NULL, &value);) {
        const struct sitting *other = value;

        if (other != sitting && is_living_on(other, sitting->partition) &&
            (other->run != sitting->run || !str_eq(other->job_uid, sitting->job_uid)))
            world_break(world, NO_IPU_TWICE,
                        "pod %s (run %u) starts on partition %s while %s (run %u) lives on it", sitting->name,
                        sitting->run, sitting->partition, other->name, other->run);
    }
}

static const struct held *find_held(const struct world *world, const char *id)
{
    struct err err = {0};

    for (size_t i = 0; i < world->net.side_count; i++) {
        const struct held *held = controller_find(&world->sides[i].core, id, &err);

        if (held)
            return held;
    }
    return NULL;
}

/* Whether a request arrives as it was meant, right when it was sent. */
static bool is_prompt(const struct world *world)
{
    return world->storm.late == 0 && world->storm.twice == 0;
}

/* The path ends in the name of what goes. */
static void check_deletion(struct world *world, const struct api_request *request)
{
    const char *pods = strstr(request->url, "/" WORLD_NS "/pods/");
    const struct api_object *pod =
        pods ? api_find(&world->api, "pods", WORLD_NS, pods + strlen("/" WORLD_NS "/pods/")) : NULL;

    if (pod)
        promises_deletion(world, pod);
}

/* So that whoever comes after a crash does not start the program a second time. */
static void check_noted(struct world *world, const char *partition)
{
    const struct api_object *record = api_find(&world->api, "configmaps", WORLD_OPERATOR_NS, partition);

    if (!str_eq(json_str(record ? record->doc : NULL, "data/launched", ""), "true"))
        world_break(world, NO_IPU_TWICE, "a launcher is made on partition %s, and its record does not say so",
                    partition);
}

void invariants_request(struct world *world, const struct api_request *request)
{
    struct err err = {0};
    AUTO(json) cJSON *body = NULL;
    const struct held *held;
    const char *id;

    if (str_eq(request->method, "DELETE"))
        check_deletion(world, request);
    if (!str_eq(request->method, "POST") || !strstr(request->url, "/pods") ||
        strstr(request->url, "dryRun") || !is_prompt(world) || world->is_tampered)
        return;
    body = json_parse(request->body, &err);
    id = json_str(body, "metadata/annotations/graphcore.ai~1partition", "");
    held = find_held(world, id);
    if (str_eq(json_str(body, "metadata/labels/graphcore.ai~1role", ""), "launcher"))
        check_noted(world, id);
    if (!held || held->partition.ready_state != VIPU_READY_ACTIVE)
        world_break(world, NO_IPU_TWICE, "pod %s is created on partition %s, which is %s",
                    json_str(body, "metadata/name", ""), id,
                    held ? vipu_ready_state_name(held->partition.ready_state) : "not there");
}

/* ---- 1, 2 ---- */

/* It stands for no partition any more, and keeps its id from being used again. */
static bool is_spent(const struct api_object *record)
{
    return json_at(record->doc, "data/spentAt") != NULL;
}

/* A partition may be taken from under a program when the hold has passed since it was asked to go, or
 * vanished. Where its record does not say that it was started, the removal itself is the fence. */
static void check_hold(struct world *world, const struct sitting *living, const struct api_object *record)
{
    int64_t left_ms = living->goes_since_ms + WORLD_HOLD_MS - clock_now_ms();

    if (str_eq(json_str(record->doc, "data/started", ""), "true") && (!living->goes_since_ms || left_ms > 0))
        world_break(world, NO_IPU_TWICE,
                    "partition %s is removed while pod %s lives on it, which goes since %lld ms",
                    living->partition, living->name,
                    (long long)(living->goes_since_ms ? clock_now_ms() - living->goes_since_ms : 0));
}

void invariants_vipu_write(struct world *world, struct vipu_side *side, enum vipu_write write, const char *id)
{
    struct err err = {0};
    const struct held *held = controller_find(&side->core, id, &err);
    const struct sitting *living = find_living(world, id);
    const struct api_object *record = api_find(&world->api, "configmaps", WORLD_OPERATOR_NS, id);
    bool has_record = record && !is_spent(record);

    world->vipu_writes++;
    if (str_has_prefix(id, "foreign") && write != VIPU_CREATE)
        world_break(world, OWNED, "foreign partition %s is touched", id);
    /* What somebody removed may be made again by a request of long ago. */
    if (write == VIPU_CREATE && !held && living && (is_prompt(world) || !world->is_tampered))
        world_break(world, NO_IPU_TWICE, "partition %s is made again while pod %s of it lives", id,
                    living->name);
    if (write == VIPU_RESET && living)
        world_break(world, NO_IPU_TWICE, "partition %s is reset while pod %s lives on it", id, living->name);
    if (write == VIPU_REMOVE && held && living && has_record)
        check_hold(world, living, record);
    if (write == VIPU_RESET || (write == VIPU_CREATE && !held))
        map_remove(&world->used, id);
    if (write == VIPU_REMOVE && held && !has_record)
        world_break(world, OWNED, "partition %s is removed, and has no record", id);
    if (write == VIPU_CREATE && !held && !has_record)
        world_break(world, OWNED, "partition %s is made, and has no record", id);
}

/* ---- jobs ---- */

/* Its finalizer goes last. */
static void check_left(struct world *world, const struct api_object *job)
{
    void *value;

    for (size_t i = 0;
         is_prompt(world) && map_next(api_objects(&world->api, "configmaps"), &i, NULL, &value);) {
        const struct api_object *record = value;

        if (!is_spent(record) && str_eq(json_str(record->doc, "data/jobUid", ""), job->uid))
            world_break(world, OWNED, "job %s has gone, and its record %s is left", job->name, record->name);
    }
}

static bool is_end(const char *state)
{
    return str_eq(state, "Completed") || str_eq(state, "Failed");
}

/* A refusal is no end: another spec may mend it. */
static bool is_refusal(const cJSON *doc)
{
    static const char *const reasons[] = {"InvalidSpec", "PodTemplateRefused"};

    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        if (str_eq(json_str(doc, "status/reason", ""), reasons[i]))
            return true;
    }
    return false;
}

/* To look through all records at every change of a job is too much among thousands. */
static bool is_crowd(const struct world *world)
{
    return world->job_count > 200;
}

/* All of its instances run, says its status. */
static void check_running(struct world *world, const struct user_job *job, const cJSON *doc)
{
    uint32_t wanted = (uint32_t)json_i64(doc, "spec/jobInstances", 0), held = 0;
    void *value;

    if (is_crowd(world) || !str_eq(json_str(doc, "status/reason", ""), "Running") ||
        json_at(doc, "status/completedInstances") || json_at(doc, "status/failedInstances"))
        return;
    for (size_t i = 0; map_next(api_objects(&world->api, "configmaps"), &i, NULL, &value);) {
        const cJSON *record = ((const struct api_object *)value)->doc;

        held += str_eq(json_str(record, "data/jobUid", ""), job->uid) &&
                str_eq(json_str(record, "data/releasing", ""), "false");
    }
    if (held < wanted &&
        json_i64(doc, "metadata/generation", 0) == json_i64(doc, "status/observedGeneration", 0))
        world_break(world, OWNED, "job %s says that it runs, and has %u of %u partitions", job->name, held,
                    wanted);
}

void invariants_change(struct world *world, enum api_change_type type, const struct api_object *object)
{
    struct user_job *job;
    const char *state = json_str(object->doc, "status/launcherStatus", "");

    if (!str_eq(object->kind->plural, "ipujobs")) {
        if (type == API_ADDED)
            promises_made(world, object);
        return;
    }
    promises_status(world, object->doc);
    if (type == API_DELETED)
        check_left(world, object);
    job = world_job(world, object->name);
    if (!job || type == API_ADDED || !str_eq(job->uid, object->uid))
        return;
    if (job->ended && !is_end(state) && !str_eq(state, "Terminating"))
        world_break(world, AN_END, "job %s was %s and is %s", job->name, job->ended, state);
    check_running(world, job, object->doc);
    if (is_end(state) && !is_refusal(object->doc))
        job->ended = str_eq(state, "Completed") ? "Completed" : "Failed";
}

/* ---- at rest ---- */

static bool is_among(const char *state, const char *ends)
{
    const char *found = strstr(ends, state);

    return *state && found != NULL;
}

/* It has something at the controller that does not answer any more. */
static bool is_stuck(const struct world *world, const char *job)
{
    void *value;

    for (size_t i = 0;
         world->lost && map_next(api_objects((struct api *)&world->api, "configmaps"), &i, NULL, &value);) {
        const cJSON *record = ((const struct api_object *)value)->doc;

        if (str_eq(json_str(record, "data/jobName", ""), job) &&
            str_eq(json_str(record, "data/controller", ""), world->lost->name))
            return true;
    }
    return false;
}

/* Of all places: the job may run on any controller. */
static bool has_room(const struct world *world, const cJSON *job)
{
    uint32_t size = 0;

    parse_u32(json_str(job, "spec/ipusPerJobInstance", ""), 1, UINT32_MAX, &size);
    for (size_t i = 0; i < world->net.side_count; i++) {
        const struct vipu_cluster *cluster = &world->sides[i].config.clusters.items[0];

        if (&world->sides[i] == world->lost)
            continue;
        struct vipu_room room =
            vipu_allocator_room(&world->sides[i].core.allocator, cluster, &cluster->allocations[0]);

        if (room.largest >= size)
            return true;
    }
    return false;
}

/* It waits in line for one that really has no room: nothing passes it. */
static bool waits_rightly(const struct world *world, const cJSON *job)
{
    if (!str_eq(json_str(job, "status/launcherStatus", ""), "Pending"))
        return false;
    if (!has_room(world, job))
        return true;
    for (size_t i = 0; i < world->job_count; i++) {
        const struct api_object *other = api_find(&world->api, "ipujobs", WORLD_NS, world->jobs[i].name);

        if (other && str_eq(json_str(other->doc, "status/launcherStatus", ""), "Pending") &&
            !has_room(world, other->doc))
            return true;
    }
    return false;
}

static bool ends_well(const struct world *world, const struct user_job *job, const cJSON *doc)
{
    const char *state = json_str(doc, "status/launcherStatus", "");

    if (is_among(state, job->kind->ends) || waits_rightly(world, doc))
        return true;
    if (is_stuck(world, job->name))
        return is_end(state) || str_eq(json_str(doc, "status/reason", ""), "ControllerUnavailable");
    return !world_is_calm(world) && is_end(state);
}

static void check_end(struct world *world, const struct user_job *job)
{
    const struct api_object *object = api_find(&world->api, "ipujobs", WORLD_NS, job->name);
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
    promises_at_rest(world, job, object->doc);
}

/* A record's job must be there, and not at its end; its partition must be there, as it says. */
static void check_record(struct world *world, const struct api_object *record)
{
    const char *name = json_str(record->doc, "data/jobName", "");
    const struct api_object *job = api_find(&world->api, "ipujobs", WORLD_NS, name);
    const char *state = json_str(job ? job->doc : NULL, "status/launcherStatus", "");

    if (is_spent(record) || is_stuck(world, name))
        return;
    if (!job || !str_eq(job->uid, json_str(record->doc, "data/jobUid", "")))
        world_break(world, OWNED, "record %s is of a job that has gone", record->name);
    else if (is_end(state) && !is_refusal(job->doc))
        world_break(world, OWNED, "record %s is of job %s, which is %s", record->name, name, state);
    else if (!str_eq(json_str(record->doc, "data/releasing", ""), "true") && !find_held(world, record->name))
        world_break(world, OWNED, "record %s of job %s has no partition", record->name, name);
}

static void check_partitions(struct world *world, size_t side)
{
    const struct controller *core = &world->sides[side].core;
    bool has_foreign = false;

    for (size_t i = 0; i < core->count; i++) {
        const char *id = core->list[i]->partition.id;
        const struct api_object *record = api_find(&world->api, "configmaps", WORLD_OPERATOR_NS, id);

        if (str_has_prefix(id, "foreign"))
            has_foreign = core->list[i]->number == world->foreign_numbers[side];
        else if (!record || is_spent(record))
            world_break(world, OWNED, "partition %s has no record", id);
    }
    if (!has_foreign)
        world_break(world, OWNED, "the foreign partition of %s has gone", world->sides[side].name);
}

static void check_pods(struct world *world, const struct user_job *job)
{
    const struct api_object *object = api_find(&world->api, "ipujobs", WORLD_NS, job->name);
    unsigned pods = 0;
    void *value;

    for (size_t i = 0; map_next(api_objects(&world->api, "pods"), &i, NULL, &value);)
        pods +=
            str_eq(json_str(((struct api_object *)value)->doc, "metadata/labels/graphcore.ai~1job-name", ""),
                   job->name);
    if (!object || json_at(object->doc, "metadata/deletionTimestamp")) /* a deletion takes the pods along */
        return;
    if (str_eq(json_str(object->doc, "spec/cleanPodPolicy", ""), "All") && job->ended && pods)
        world_break(world, READABLE, "job %s has ended, and %u of its pods are still there", job->name, pods);
    if (world_is_calm(world) && !json_at(object->doc, "spec/cleanPodPolicy") && job->ended && !pods &&
        job->kind->pods <= PODS_FAIL_TWICE && job->kind->user != USER_KILLS_PODS)
        world_break(world, READABLE, "job %s has ended, and its pods have gone", job->name);
}

void invariants_at_rest(struct world *world)
{
    void *value;

    for (size_t i = 0; i < world->job_count; i++) {
        check_end(world, &world->jobs[i]);
        check_pods(world, &world->jobs[i]);
    }
    for (size_t i = 0; map_next(api_objects(&world->api, "configmaps"), &i, NULL, &value);)
        check_record(world, value);
    for (size_t i = 0; i < world->net.side_count; i++)
        check_partitions(world, i);
    if (world_is_calm(world) && world->incarnations > WORLD_PROCESSES)
        world_break(world, NONE_BLOCKED, "%u operators were started, and nothing was done to the first",
                    world->incarnations);
    if (world_is_calm(world) && world->api.empty_patches)
        world_break(world, NOTHING_AGAIN, "%llu patches have changed nothing",
                    (unsigned long long)world->api.empty_patches);
}
