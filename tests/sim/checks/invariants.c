#include "checks/invariants.h"

#include <string.h>

#include "base/core/mem.h"
#include "checks/queue_order.h"
#include "checks/outcome.h"
#include "checks/programs.h"
#include "checks/status_guarantees.h"
#include "checks/records.h"

/* ---- 4 ---- */

/* Twice what the busiest minute of a thousand seeds has. */
enum { WRITES_OF_A_JOB = 60, WRITES_BESIDE = 100 };

/* Rejected or undone writes are retried with backoff: a minute costs some writes for each job, whatever
 * fails. */
static void count_write(struct world *world, const char *what)
{
    int64_t minute = clock_now_ms() / 60000;
    size_t most = WRITES_BESIDE + WRITES_OF_A_JOB * world->job_count;

    if (minute != world->minute)
        world->writes_in_minute = 0;
    world->minute = minute;
    if (++world->writes_in_minute == most)
        world_break(world, NOTHING_AGAIN, "%zu writes for %zu jobs within a minute, the last of them %s",
                    most, world->job_count, what);
}

/* ---- 6 ---- */

void invariants_write_leaves(struct world *world, const struct host *host, const char *what)
{
    count_write(world, what);
    if (!str_eq(world->leader, host->name))
        world_break(world, ONLY_LEADER, "%s sends %s, and the lease is held by %s", host->name, what,
                    world->leader ? world->leader : "nobody");
    else if (clock_read_ms() > world->lease_ends_ms)
        world_break(world, ONLY_LEADER, "%s sends %s, and its lease ran out %lld ms ago", host->name, what,
                    (long long)(clock_read_ms() - world->lease_ends_ms));
}

/* ---- 2, 7: requests ---- */

/* The path ends in the name of what goes. */
static void check_deletion(struct world *world, const struct api_request *request)
{
    const char *pods = strstr(request->url, "/" WORLD_NS "/pods/");
    const struct api_object *pod =
        pods ? api_find(&world->api, "pods", WORLD_NS, pods + strlen("/" WORLD_NS "/pods/")) : NULL;

    if (pod)
        status_guarantees_on_deletion(world, pod);
}

/* So that an operator that starts after a crash does not start the program a second time. */
static void check_noted(struct world *world, const char *partition)
{
    const struct api_object *record = api_find(&world->api, "configmaps", WORLD_OPERATOR_NS, partition);

    if (!str_eq(json_str(record ? record->doc : NULL, "data/launched", ""), "true"))
        world_break(world, NO_IPU_TWICE, "a launcher is made on partition %s, and its record does not say so",
                    partition);
}

static bool makes_a_pod(const struct api_request *request)
{
    return str_eq(request->method, "POST") && strstr(request->url, "/pods") &&
           !strstr(request->url, "dryRun");
}

void invariants_request(struct world *world, const struct api_request *request)
{
    struct err err = {0};
    AUTO(json) cJSON *body = NULL;
    const struct controller_partition *entry;
    const char *id;

    if (str_eq(request->method, "DELETE"))
        check_deletion(world, request);
    if (!makes_a_pod(request) || !world_is_prompt(world) || world->is_tampered)
        return;
    body = json_parse(request->body, &err);
    id = json_str(body, "metadata/annotations/graphcore.ai~1partition", "");
    entry = records_find_partition(world, id);
    if (str_eq(json_str(body, "metadata/labels/graphcore.ai~1role", ""), "launcher"))
        check_noted(world, id);
    if (!entry || entry->partition.ready_state != VIPU_READY_ACTIVE)
        world_break(world, NO_IPU_TWICE, "pod %s is created on partition %s, which is %s",
                    json_str(body, "metadata/name", ""), id,
                    entry ? vipu_ready_state_name(entry->partition.ready_state) : "not there");
}

/* ---- all others ---- */

void invariants_vipu_write(struct world *world, const struct sim_vipu *side, const struct vipu_order *order)
{
    world->vipu_writes++;
    records_ordered(world, side, order);
}

void invariants_start(struct world *world, const struct node_process *process)
{
    programs_began(world, process);
}

static void on_job(struct world *world, enum api_change_type type, const struct api_object *object)
{
    struct user_job *job = world_job(world, object->name);

    status_guarantees_on_status(world, object->doc);
    if (type == API_DELETED)
        records_left(world, object);
    if (!job || type == API_ADDED || !str_eq(job->uid, object->uid))
        return;
    status_guarantees_on_change(world, job, object->doc);
    queue_order_note_reported(job, object->doc);
    outcome_changed(world, job, object->doc);
}

void invariants_change(struct world *world, enum api_change_type type, const struct api_object *object)
{
    if (str_eq(object->kind->plural, "ipujobs"))
        on_job(world, type, object);
    else if (type == API_ADDED)
        status_guarantees_init(world, object);
    if (str_eq(object->kind->plural, "configmaps") && type == API_ADDED)
        queue_order_note_served(world, object);
    if (str_eq(object->kind->plural, "configmaps") && type != API_DELETED)
        queue_order_note_preempted(world, object);
    if (str_eq(object->kind->plural, "configmaps") && type == API_DELETED)
        records_ended(world, object);
}

void invariants_pod_rejected(struct world *world, const cJSON *pod)
{
    queue_order_note_left(world, pod);
}

void invariants_step(struct world *world)
{
    programs_step(world);
    queue_order_step(world);
}

void invariants_at_rest(struct world *world)
{
    outcome_at_rest(world);
    records_at_rest(world);
    if (world_is_calm(world) && world->incarnations > WORLD_PROCESSES)
        world_break(world, NONE_BLOCKED, "%u operators were started, and nothing was done to the first",
                    world->incarnations);
    if (world_is_calm(world) && world->api.empty_patches)
        world_break(world, NOTHING_AGAIN, "%llu patches have changed nothing",
                    (unsigned long long)world->api.empty_patches);
}
