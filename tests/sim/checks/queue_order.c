#include "checks/queue_order.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "checks/invariants.h"
#include "operator/api/job/indexset.h"
#include "checks/records.h"
#include "operator/reconcile/state/queue_plan.h"
#include "world/process.h"

/* A job that has reported so long ago that it waits was in the queue when others were served: their requests
 * do not take longer. */
#define REPORTED_WITHIN_MS 1000
#define REPORTED_WITHIN_STORM_MS 75000
#define TRIES_KEEP_AGE 3

/* ---- who waits ---- */

static bool says_that_it_waits(const cJSON *job)
{
    const char *reason = json_str(job, "status/reason", "");

    return (str_eq(reason, "InsufficientIPUs") || str_eq(reason, "Queued")) && json_at(job, "status/queue") &&
           !json_at(job, "metadata/deletionTimestamp") && !json_bool(job, "spec/suspend", false) &&
           json_i64(job, "metadata/generation", 0) == json_i64(job, "status/observedGeneration", 0);
}

static int64_t reported_since_s(const cJSON *job)
{
    int64_t since_s = 0;

    timefmt_parse_rfc3339(json_str(job, "status/queue/since", ""), &since_s);
    return since_s;
}

void queue_order_note_reported(struct user_job *job, const cJSON *doc)
{
    if (!says_that_it_waits(doc)) {
        job->waits_since_ms = 0;
        return;
    }
    if (reported_since_s(doc) < job->resumed_s)
        world_break(job->world, NONE_PASSES, "job %s has an age of before it was resumed", job->name);
    if (!job->waits_since_ms)
        job->waits_since_ms = clock_now_ms();
}

void queue_order_note_left(struct world *world, const cJSON *pod)
{
    struct user_job *job = world_job(world, json_str(pod, "metadata/labels/graphcore.ai~1job-name", "-"));

    if (job)
        job->waits_since_ms = 0; /* its status is from before; it counts when it is written again */
}

void queue_order_note_plan(struct world *world, const char *job, const struct plan *plan)
{
    const struct op *claims = plan_claims(plan);
    struct user_job *known = world_job(world, job);

    if (known)
        known->is_validated = !claims || claims->ready;
}

/* A leader that gets no answer of the API server about a template goes on without the job after a while. */
static bool may_be_left_out(const struct world *world, const struct user_job *job)
{
    return !world->options.is_calm && !job->is_validated;
}

static bool has_waited(const struct world *world, const struct user_job *job)
{
    int64_t reported_within_ms = world->options.is_calm ? REPORTED_WITHIN_MS : REPORTED_WITHIN_STORM_MS;

    return job->waits_since_ms && !may_be_left_out(world, job) &&
           clock_now_ms() - job->waits_since_ms >= reported_within_ms;
}

static size_t count_ended(const cJSON *job)
{
    AUTO(indexset) struct indexset ended = {0};

    indexset_parse(&ended, json_str(job, "status/completedIndexes", ""));
    indexset_parse(&ended, json_str(job, "status/failedIndexes", ""));
    return indexset_count(&ended);
}

/* The status may be a moment behind: its last instance has been served too. */
static bool lacks_partitions(struct world *world, const struct user_job *job)
{
    const struct api_object *object = api_find(&world->api, "ipujobs", WORLD_NS, job->name);
    int64_t wanted = json_i64(object ? object->doc : NULL, "spec/jobInstances", 0);

    return object && records_count(world, job->uid, false) + count_ended(object->doc) < (size_t)wanted;
}

/* The pod that keeps its log is deleted first, so that its record comes a step after those of others that get
 * IPUs at the same time. */
static bool was_preempted(struct world *world, const struct user_job *job)
{
    const struct api_object *object = api_find(&world->api, "ipujobs", WORLD_NS, job->name);

    return object && json_i64(object->doc, "status/preemptionCount", 0) > 0;
}

/* ---- room ---- */

static uint32_t size_of(const cJSON *job)
{
    uint32_t size = 0;

    parse_u32(json_str(job, "spec/ipusPerJobInstance", ""), 1, UINT32_MAX, &size);
    return size;
}

static struct vipu_pool_view room_now(const struct sim_vipu *side)
{
    const struct controller *core = &side->core;
    AUTO(mem) struct vipu_partition *items = mem_alloc((core->count + 1) * sizeof(*items));
    size_t count = 0;

    CONTROLLER_EACH (entry, core)
        items[count++] = entry->partition;
    return vipu_pool_view_of(&(struct vipu_partitions){.items = items, .count = count},
                             (struct vipu_pool_shape){.total_ipus = side->machines * VIPU_AGENT_IPUS});
}

/* What is left of a controller when every record has its partition. */
static uint32_t room_left(const struct world *world, const struct sim_vipu *side)
{
    AUTO(vipu_pool_view) struct vipu_pool_view room = room_now(side);
    void *value;

    for (size_t i = 0; map_next(api_objects((struct api *)&world->api, "configmaps"), &i, NULL, &value);) {
        const struct api_object *record = value;
        uint32_t size = 0;

        if (str_eq(json_str(record->doc, "data/controller", ""), side->name) && records_reserve(record) &&
            !records_find_partition(world, record->name) &&
            parse_u32(json_str(record->doc, "data/size", ""), 1, UINT32_MAX, &size))
            (void)!vipu_pool_reserve(&room, size);
    }
    return vipu_pool_largest_free(&room);
}

/* Of all places: any job may run on any controller. */
static uint32_t largest_room(const struct world *world)
{
    uint32_t largest = 0;

    for (size_t i = 0; i < world->net.side_count; i++) {
        uint32_t left = &world->sides[i] == world->lost ? 0 : room_left(world, &world->sides[i]);

        if (left > largest)
            largest = left;
    }
    return largest;
}

static bool could_serve(const struct world *world, const char *controller, uint32_t size)
{
    for (size_t i = 0; i < world->net.side_count; i++) {
        if (str_eq(world->sides[i].name, controller))
            return size <= world->sides[i].machines * VIPU_AGENT_IPUS;
    }
    return false;
}

/* ---- 9 ---- */

/* A process that has just begun to lead waits only so long for what the API server says of priorities, and in
 * a storm that can take longer. */
static bool priorities_are_known(const struct world *world)
{
    return world->options.is_calm || clock_now_ms() > world->storm_ends_ms + REPORTED_WITHIN_STORM_MS;
}

/* A job keeps its age, unless it was resumed or scaled up from zero, or has held IPUs in vain again and
 * again. Whether it had been idle when it was scaled up, its status tells. */
static int64_t queued_since_s(const struct world *world, const struct user_job *job)
{
    const struct api_object *object = api_find((struct api *)&world->api, "ipujobs", WORLD_NS, job->name);
    const cJSON *failure = json_at(object ? object->doc : NULL, "status/startFailure");
    int64_t since_s = job->resumed_s > job->created_s ? job->resumed_s : job->created_s, told_s;

    if (timefmt_parse_rfc3339(json_str(object ? object->doc : NULL, "status/queuedSince", ""), &told_s) &&
        told_s > since_s)
        since_s = told_s;
    if (json_i64(failure, "tries", 0) > TRIES_KEEP_AGE)
        timefmt_parse_rfc3339(json_str(failure, "time", ""), &since_s);
    return since_s;
}

static bool has_several_instances(const struct world *world, const struct user_job *job)
{
    const struct api_object *object = api_find((struct api *)&world->api, "ipujobs", WORLD_NS, job->name);

    return json_i64(object ? object->doc : NULL, "spec/jobInstances", 1) > 1;
}

/* Instances of one job take turns with other jobs. After pods that the API server rejected, the job may stand
 * earlier again. That its user has resumed it may be learned late. */
static int64_t latest_turn_s(const struct world *world, const struct user_job *job)
{
    const struct api_object *object = api_find((struct api *)&world->api, "ipujobs", WORLD_NS, job->name);
    int64_t since_s = queued_since_s(world, job), reported_s = reported_since_s(object ? object->doc : NULL);

    if (job->served_s > since_s && has_several_instances(world, job))
        since_s = job->served_s;
    return reported_s > since_s ? reported_s : since_s;
}

static bool stands_before(const struct world *world, const struct user_job *a, const struct user_job *b)
{
    if (a->class->value != b->class->value)
        return a->class->value > b->class->value && priorities_are_known(world);
    return latest_turn_s(world, a) < queued_since_s(world, b);
}

/* In a large world one of so many records is looked at: each look goes through all of them. */
#define CROWD_LOOKS_AT 32

static bool is_looked_at(const struct world *world, const struct api_object *record)
{
    return !world_is_large(world) || str_hash(record->name) % CROWD_LOOKS_AT == 0;
}

/* When the job must have released IPUs that it gets then, by its own limits, or by those with which it got
 * them, if it has raised them since. They count from its first instance; FORECAST_UNKNOWN: it has none. */
static int64_t end_s(const struct world *world, const struct user_job *job, const struct api_object *record,
                     int64_t from_s)
{
    const struct api_object *object = api_find((struct api *)&world->api, "ipujobs", WORLD_NS, job->name);
    int64_t deadline_s = json_i64(object ? object->doc : NULL, "spec/activeDeadlineSeconds", 0);
    int64_t ttl_s = json_i64(object ? object->doc : NULL, "spec/interactive/ttl", 0);
    int64_t start_s = from_s;
    uint32_t kept_s;

    if (parse_u32(json_str(record ? record->doc : NULL, "data/limitSeconds", ""), 1, UINT32_MAX, &kept_s) &&
        (!deadline_s || kept_s < deadline_s))
        deadline_s = kept_s;

    timefmt_parse_rfc3339(json_str(object ? object->doc : NULL, "status/startTime", ""), &start_s);
    if (!deadline_s && !ttl_s)
        return FORECAST_UNKNOWN;
    return (start_s < from_s ? start_s : from_s) +
           (ttl_s && (!deadline_s || ttl_s < deadline_s) ? ttl_s : deadline_s);
}

/* Its deadline has just passed: it is out of line before its status says so. */
static bool has_reached_its_end(const struct world *world, const struct user_job *job)
{
    return end_s(world, job, NULL, clock_unix_s()) <= clock_unix_s();
}

static const struct sim_vipu *side_of(const struct world *world, const char *controller, uint32_t *ret_number)
{
    for (uint32_t i = 0; i < world->net.side_count; i++) {
        *ret_number = i;
        if (str_eq(world->sides[i].name, controller))
            return &world->sides[i];
    }
    return NULL;
}

static bool is_in_block(const struct vipu_pool_part *part, const struct forecast_block *block)
{
    return part->ipus & block->ipus && part->domain < block->domain + block->domain_count &&
           block->domain < part->domain + part->domain_count;
}

/* Likewise if it gets them now, as the policy lets it count: what `predicted` promises rests on the
 * operator's own estimate where there is no limit. */
static int64_t expected_end_s(const struct world *world, const struct process *process,
                              const struct user_job *job, const struct api_object *record)
{
    int64_t end = end_s(world, job, record, clock_unix_s()), expected = process_expects_s(process, job->uid);

    return end == FORECAST_UNKNOWN && world->options.policy == FORECAST_PREDICTED && expected
               ? clock_unix_s() + expected
               : end;
}

/* I-HEAD: who gets IPUs of a block that is kept for another job ends before that one is to start. Without
 * faults, because a process may send what it has decided before it learns of them. */
static void check_kept_blocks(struct world *world, const struct api_object *record,
                              const struct user_job *served)
{
    const char *controller = json_str(record->doc, "data/controller", "");
    uint32_t number = 0;
    const struct sim_vipu *side = side_of(world, controller, &number);
    AUTO(vipu_pool_view) struct vipu_pool_view room = {0};
    struct vipu_pool_part part;

    if (!world_is_calm(world) || !side)
        return;
    room = room_now(side);
    if (!vipu_pool_part_of(&room, json_str(record->doc, "data/place", ""), served->size, &part))
        return;
    for (size_t p = 0; p < WORLD_PROCESSES; p++) {
        const struct queue_plan *plan = world->processes[p] ? process_queue_plan(world->processes[p]) : NULL;
        int64_t end = plan ? expected_end_s(world, world->processes[p], served, record) : 0;

        for (size_t i = 0; plan && i < plan->reserved_count; i++) {
            const struct forecast_reservation *kept = &plan->reserved[i];

            if (kept->controller == number && kept->uid != str_hash(served->uid) && !kept->is_open &&
                is_in_block(&part, &kept->block) && end > kept->start_s)
                world_break(world, NONE_PASSES,
                            "job %s gets IPUs of %s in a block that is kept for another job", served->name,
                            controller);
        }
    }
}

/* Without faults, because those bring a second leader, which does not see what the first has just sent. */
static void check_quota(struct world *world)
{
    uint32_t quota = world->options.ipu_quota, held = quota ? records_held_ipus(world) : 0;

    if (world_is_calm(world) && held > quota)
        world_break(world, WITHIN_QUOTA, "the namespace holds %u IPUs, and its quota is %u", held, quota);
}

void queue_order_note_served(struct world *world, const struct api_object *record)
{
    const char *controller = json_str(record->doc, "data/controller", "");
    struct user_job *served = world_job(world, json_str(record->doc, "data/jobName", "-"));
    uint32_t room = UINT32_MAX; /* finding out takes a while: not for jobs at the head of the queue */

    if (!served || !str_eq(served->uid, json_str(record->doc, "data/jobUid", "")))
        return;
    served->served_s = clock_unix_s();
    served->resumed_s = 0;
    check_quota(world);
    served->waits_since_ms = 0; /* its status is from before, also if its pods are rejected then */
    if (world->options.policy != FORECAST_STRICT) {
        check_kept_blocks(world, record, served);
        return;
    }
    if (world->options.ipu_quota || !is_looked_at(world, record))
        return; /* who is over quota is passed */
    for (size_t i = 0; i < world->job_count; i++) {
        const struct user_job *other = &world->jobs[i];

        if (!has_waited(world, other) || has_reached_its_end(world, other) || was_preempted(world, other) ||
            !stands_before(world, other, served) || !could_serve(world, controller, other->size))
            continue;
        if (room == UINT32_MAX)
            room = largest_room(world);
        if (other->size > room && lacks_partitions(world, other))
            world_break(world, NONE_PASSES,
                        "job %s gets IPUs of %s, and job %s, which stands before it and waits for %u of "
                        "them, does not",
                        served->name, controller, other->name, other->size);
    }
}

/* ---- preemption ---- */

#define PREEMPTIONS_MAX 3

void queue_order_note_preempted(struct world *world, const struct api_object *record)
{
    const char *by = json_str(record->doc, "data/preemptor", NULL);
    const struct user_job *victim = world_job(world, json_str(record->doc, "data/jobName", "-"));
    const struct user_job *preemptor =
        by && str_has_prefix(by, WORLD_NS "/") ? world_job(world, by + strlen(WORLD_NS "/")) : NULL;
    const struct api_object *object =
        victim ? api_find((struct api *)&world->api, "ipujobs", WORLD_NS, victim->name) : NULL;
    uint32_t count = 0;

    if (!by || !object || !str_eq(object->uid, json_str(record->doc, "data/jobUid", "")))
        return;
    parse_u32(json_str(record->doc, "data/preemptions", ""), 0, UINT32_MAX, &count);
    if (!preemptor || preemptor->class->value <= victim->class->value)
        world_break(world, NONE_PASSES, "job %s is preempted by %s, which has no higher priority",
                    victim->name, by);
    if (!json_at(object->doc, "metadata/annotations/graphcore.ai~1preemptible"))
        world_break(world, NONE_PASSES, "job %s is preempted and has not agreed", victim->name);
    if (count < 1 || count > PREEMPTIONS_MAX)
        world_break(world, NONE_PASSES, "job %s is preempted %u times", victim->name, count);
    world->preemptions += records_reserve(record);
}

/* ---- promised starts ---- */

/* Freed IPUs are granted within seconds. */
#define PROMISE_GRACE_S 5

static struct user_job *job_of(const struct world *world, uint64_t uid)
{
    for (size_t i = 0; i < world->job_count; i++) {
        if (world->jobs[i].uid && str_hash(world->jobs[i].uid) == uid)
            return &world->jobs[i];
    }
    return NULL;
}

/* It has got IPUs of the block after they were promised, may keep them for longer, and comes later in line.
 * What a process has decided before it, or the one before it, made the promise can be sent so much later. */
static bool breaks_promise(const struct world *world, const struct forecast_reservation *kept,
                           const struct user_job *promised, const struct api_object *record)
{
    const struct sim_vipu *side = &world->sides[kept->controller];
    const struct user_job *owner = world_job(world, json_str(record->doc, "data/jobName", "-"));
    AUTO(vipu_pool_view) struct vipu_pool_view room = {0};
    int64_t late_s = world_is_calm(world) ? 0 : REPORTED_WITHIN_STORM_MS / 1000, since_s = 0, end;
    struct vipu_pool_part part;

    timefmt_parse_rfc3339(json_str(record->doc, "metadata/creationTimestamp", ""), &since_s);
    if (!owner || !str_eq(owner->uid, json_str(record->doc, "data/jobUid", "")) ||
        !str_eq(side->name, json_str(record->doc, "data/controller", "")) ||
        !stands_before(world, promised, owner) || since_s <= kept->since_s + late_s ||
        since_s > kept->promise_s + PROMISE_GRACE_S)
        return false;
    /* Without faults, who has raised a deadline is gone in time all the same. */
    end = end_s(world, owner, world_is_calm(world) ? NULL : record, since_s);
    if (end != FORECAST_UNKNOWN && end <= kept->promise_s + late_s)
        return false;
    room = room_now(side);
    return vipu_pool_part_of(&room, json_str(record->doc, "data/place", ""), owner->size, &part) &&
           is_in_block(&part, &kept->block);
}

static void check_promise(struct world *world, const struct forecast_reservation *kept)
{
    const struct user_job *promised = job_of(world, kept->uid);
    void *value;

    for (size_t i = 0; promised && map_next(api_objects(&world->api, "configmaps"), &i, NULL, &value);) {
        const struct api_object *record = value;

        if (records_reserve(record) && breaks_promise(world, kept, promised, record))
            world_break(world, NONE_PASSES,
                        "job %s was promised IPUs that job %s has got since, and waits for it",
                        promised->name, json_str(record->doc, "data/jobName", ""));
    }
}

/* Under `bounded`, nobody's start delays a job that was promised a time, as long as bounds hold: by what the
 * API server has, and by what the operator counts itself. */
static void check_promises(struct world *world)
{
    for (size_t p = 0; p < WORLD_PROCESSES; p++) {
        struct process *process = world->processes[p];
        const struct queue_plan *plan = process ? process_queue_plan(process) : NULL;

        if (!plan || !str_eq(world->leader, process_host(process)->name))
            continue;
        if (process_broken_by_backfill(process))
            world_break(world, NONE_PASSES, "%s counts a promise that a later start has broken",
                        process_host(process)->name);
        for (size_t i = 0; i < plan->reserved_count; i++) {
            if (plan->reserved[i].promise_s != FORECAST_UNKNOWN && !plan->reserved[i].is_displaced &&
                !plan->reserved[i].is_overrun &&
                clock_unix_s() > plan->reserved[i].promise_s + PROMISE_GRACE_S)
                check_promise(world, &plan->reserved[i]);
        }
    }
}

/* ---- IPUs that serve nobody ---- */

/* From the record to the report that the pods cannot start, and the grace. */
#define STUCK_WITHIN_MS (WORLD_REQUEUE_MS + 10000)
/* The end of the pods, the removal of the partition, and the queue. */
#define KEPT_MAX_MS 30000
#define LOOKS_EACH_MS 5000

/* No pod of it has ever run, nor will soon. */
static bool cannot_start(const struct world *world, const struct user_job *job)
{
    const struct api_object *object = api_find(&world->api, "ipujobs", WORLD_NS, job->name);

    return (job->kind->pods == PODS_CANNOT_PULL || job->kind->pods == PODS_PULL_LATE ||
            job->kind->pods == PODS_FIT_NOWHERE) &&
           str_eq(json_str(object ? object->doc : NULL, "status/launcherStatus", ""), "Starting");
}

/* The room of a controller without those that have held IPUs in vain for so long. */
static uint32_t room_without_stuck(const struct world *world, const struct sim_vipu *side,
                                   bool *ret_has_stuck)
{
    const struct controller *core = &side->core;
    AUTO(mem) struct vipu_partition *items = mem_alloc((core->count + 1) * sizeof(*items));
    AUTO(vipu_pool_view) struct vipu_pool_view room = {0};
    size_t count = 0;

    CONTROLLER_EACH (entry, core) {
        const struct vipu_partition *partition = &entry->partition;
        const struct api_object *record =
            api_find((struct api *)&world->api, "configmaps", WORLD_OPERATOR_NS, partition->id);
        const struct user_job *job =
            record ? world_job(world, json_str(record->doc, "data/jobName", "-")) : NULL;
        int64_t since_s = clock_unix_s();

        timefmt_parse_rfc3339(json_str(record ? record->doc : NULL, "metadata/creationTimestamp", ""),
                              &since_s);
        if (job && cannot_start(world, job) && clock_unix_s() - since_s >= STUCK_WITHIN_MS / 1000)
            *ret_has_stuck = true;
        else
            items[count++] = *partition;
    }
    room = vipu_pool_view_of(&(struct vipu_partitions){.items = items, .count = count},
                             (struct vipu_pool_shape){.total_ipus = side->machines * VIPU_AGENT_IPUS});
    return vipu_pool_largest_free(&room);
}

static bool is_first(const struct world *world, const struct user_job *job)
{
    for (size_t i = 0; i < world->job_count; i++) {
        const struct user_job *other = &world->jobs[i];

        if (other != job && other->waits_since_ms && stands_before(world, other, job))
            return false;
    }
    return true;
}

static bool would_be_served(const struct world *world, const struct user_job *job)
{
    for (size_t i = 0; i < world->net.side_count; i++) {
        bool has_stuck = false;

        if (&world->sides[i] != world->lost &&
            room_without_stuck(world, &world->sides[i], &has_stuck) >= job->size && has_stuck)
            return true;
    }
    return false;
}

/* The second one without faults, because those delay everything. */
void queue_order_step(struct world *world)
{
    if (world->options.policy == FORECAST_BOUNDED)
        check_promises(world);
    if (!world_is_calm(world) || world_is_large(world) || world->options.ipu_quota ||
        clock_now_ms() < world->looks_at_ms)
        return;
    world->looks_at_ms = clock_now_ms() + LOOKS_EACH_MS;
    for (size_t i = 0; i < world->job_count; i++) {
        struct user_job *job = &world->jobs[i];

        if (!job->waits_since_ms || !is_first(world, job) || !would_be_served(world, job))
            job->kept_since_ms = 0;
        else if (!job->kept_since_ms)
            job->kept_since_ms = clock_now_ms();
        else if (clock_now_ms() - job->kept_since_ms >= KEPT_MAX_MS)
            world_break(world, AN_END, "job %s waits for %u IPUs, which jobs have that cannot start",
                        job->name, job->size);
    }
}

bool queue_order_is_right(const struct world *world, const cJSON *job)
{
    uint32_t room = largest_room(world);

    if (!str_eq(json_str(job, "status/launcherStatus", ""), "Pending"))
        return false;
    if (size_of(job) > room)
        return true;
    if (world->options.ipu_quota && records_held_ipus(world) + size_of(job) > world->options.ipu_quota)
        return true;
    for (size_t i = 0; i < world->job_count; i++) {
        const struct api_object *other = api_find(&world->api, "ipujobs", WORLD_NS, world->jobs[i].name);

        if (other && str_eq(json_str(other->doc, "status/launcherStatus", ""), "Pending") &&
            size_of(other->doc) > room)
            return true;
    }
    return false;
}
