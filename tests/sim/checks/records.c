#include "checks/records.h"

#include "base/core/mem.h"
#include "checks/invariants.h"
#include "checks/outcome.h"
#include "checks/programs.h"

static struct map *all(const struct world *world)
{
    return api_objects((struct api *)&world->api, "configmaps");
}

const struct controller_partition *records_find_partition(const struct world *world, const char *id)
{
    struct err err = {0};

    for (size_t i = 0; i < world->net.side_count; i++) {
        const struct controller_partition *entry = controller_find(&world->sides[i].core, id, &err);

        if (entry)
            return entry;
    }
    return NULL;
}

/* It has no partition any more, and only reserves its id. */
static bool is_spent(const struct api_object *record)
{
    return json_at(record->doc, "data/spentAt") != NULL;
}

static bool is_releasing(const struct api_object *record)
{
    return str_eq(json_str(record->doc, "data/releasing", ""), "true");
}

bool records_reserve(const struct api_object *record)
{
    return !is_spent(record) && !is_releasing(record);
}

size_t records_count(const struct world *world, const char *job_uid, bool with_releasing)
{
    size_t count = 0;
    void *value;

    for (size_t i = 0; map_next(all(world), &i, NULL, &value);) {
        const struct api_object *record = value;

        count += str_eq(record->job_uid, job_uid) && (with_releasing || !is_releasing(record));
    }
    return count;
}

uint32_t records_held_ipus(const struct world *world)
{
    uint32_t held = 0;
    void *value;

    for (size_t i = 0; map_next(all(world), &i, NULL, &value);) {
        const struct api_object *record = value;
        uint32_t size = 0;

        if (!is_spent(record) && !(is_releasing(record) && !records_find_partition(world, record->name)))
            parse_u32(json_str(record->doc, "data/size", ""), 1, UINT32_MAX, &size);
        held += size;
    }
    return held;
}

bool records_are_stuck(const struct world *world, const char *job)
{
    void *value;

    for (size_t i = 0; world->lost && map_next(all(world), &i, NULL, &value);) {
        const cJSON *record = ((const struct api_object *)value)->doc;

        if (str_eq(json_str(record, "data/jobName", ""), job) &&
            str_eq(json_str(record, "data/controller", ""), world->lost->name))
            return true;
    }
    return false;
}

/* ---- what V-IPU is asked for ---- */

/* A partition may be taken from under a program when the hold has passed since it was asked to go, or
 * vanished. Where its record does not say that it was started, the removal itself is the fence. */
static void check_hold(struct world *world, const struct node_process *living,
                       const struct api_object *record)
{
    int64_t left_ms = living->goes_since_ms + WORLD_HOLD_MS - clock_now_ms();

    if (str_eq(json_str(record->doc, "data/started", ""), "true") && (!living->goes_since_ms || left_ms > 0))
        world_break(world, NO_IPU_TWICE,
                    "partition %s is removed while pod %s lives on it, which goes since %lld ms",
                    living->partition, living->name,
                    (long long)(living->goes_since_ms ? clock_now_ms() - living->goes_since_ms : 0));
}

/* Whoever removes a pod by force, and its partition, before its record says that it was started, leaves no
 * trace of it to the next operator. */
static bool leaves_no_trace(const struct world *world, const struct node_process *living)
{
    const struct api_object *record =
        api_find((struct api *)&world->api, "configmaps", WORLD_OPERATOR_NS, living->partition);

    return world->is_tampered && living->goes_since_ms &&
           !str_eq(json_str(record ? record->doc : NULL, "data/started", ""), "true");
}

/* No process may use, or be about to use, what is created or reset, except for those of the job with that
 * uid. */
static void check_unused(struct world *world, const struct vipu_order *order, const char *job_uid,
                         const char *done)
{
    const struct node_process *living = programs_on(world, order->id);
    AUTO(mem) char *asked_for = mem_printf("\"graphcore.ai/partition\":\"%s\"", order->id);

    if (living && !(job_uid && str_eq(living->job_uid, job_uid)) && !leaves_no_trace(world, living))
        world_break(world, NO_IPU_TWICE, "partition %s is %s while pod %s lives on it", order->id, done,
                    living->name);
    if (net_awaits_pod(&world->net, asked_for, job_uid))
        world_break(world, NO_IPU_TWICE, "partition %s is %s while the request for a pod on it is on its way",
                    order->id, done);
}

/* What was sent for one record may not have its effect under another one that has the same id. */
static void check_meant(struct world *world, const struct vipu_order *order, const struct api_object *record)
{
    if (record && !is_spent(record) && !str_eq(record->uid, order->record))
        world_break(world, ONLY_LEADER,
                    "what was sent for an earlier record of partition %s is carried out under another one",
                    order->id);
}

void records_ordered(struct world *world, const struct sim_vipu *side, const struct vipu_order *order)
{
    struct err err = {0};
    const char *id = order->id;
    const struct controller_partition *entry = controller_find(&side->core, id, &err);
    const struct node_process *living = programs_on(world, id);
    const struct api_object *record = api_find(&world->api, "configmaps", WORLD_OPERATOR_NS, id);
    bool has_record = record && !is_spent(record);
    bool is_made = order->write == VIPU_CREATE && !entry;
    /* A delayed create may create a partition again that was removed by hand or by the next operator, for the
     * same job. Until it can come no more, the record stays, and what it has made is removed again. */
    bool may_be_late = order->is_abandoned || (!world_is_prompt(world) && world->is_tampered);

    if (str_has_prefix(id, "foreign") && order->write != VIPU_CREATE)
        world_break(world, OWNED, "foreign partition %s is touched", id);
    if (is_made)
        check_unused(world, order, may_be_late && record ? json_str(record->doc, "data/jobUid", "") : NULL,
                     "made again");
    if (order->write == VIPU_RESET)
        check_unused(world, order, NULL, "reset");
    if (order->write == VIPU_REMOVE && entry && living && has_record)
        check_hold(world, living, record);
    if (order->write == VIPU_REMOVE && entry && !has_record)
        world_break(world, OWNED, "partition %s is removed, and has no record", id);
    if (is_made && !has_record)
        world_break(world, OWNED, "partition %s is made, and has no record", id);
    if (is_made || (entry && order->write != VIPU_CREATE))
        check_meant(world, order, record);
    if (is_made || order->write == VIPU_RESET)
        programs_cleaned(world, id);
}

/* ---- jobs that have gone ---- */

/* Its partition is released without it: so the job has to be gone, and not only unobserved. */
void records_judged(struct world *world, const struct job_view *view)
{
    for (size_t i = 0; i < view->tombstone_count; i++) {
        const struct record *record = view->tombstones[i].record;
        bool is_its_own = view->job && str_eq(view->job->uid, record->job_uid);
        const struct api_object *job =
            is_its_own || record->spent_s
                ? NULL
                : api_find(&world->api, "ipujobs", record->job_ns, record->job_name);

        if (job && str_eq(job->uid, record->job_uid))
            world_break(world, OWNED, "record %s is taken for that of a job that has gone, and %s is there",
                        record->name, job->name);
    }
}

/* Its finalizer goes last. */
void records_left(struct world *world, const struct api_object *job)
{
    void *value;

    for (size_t i = 0; world_is_prompt(world) && map_next(all(world), &i, NULL, &value);) {
        const struct api_object *record = value;

        if (str_eq(record->job_uid, job->uid) && !is_spent(record))
            world_break(world, OWNED, "job %s has gone, and its record %s is left", job->name, record->name);
    }
}

/* ---- jobs that are suspended ---- */

static bool says_that_it_holds_nothing(const cJSON *job)
{
    return json_bool(job, "spec/suspend", false) && !json_at(job, "metadata/deletionTimestamp") &&
           str_eq(json_str(job, "status/launcherStatus", ""), "Suspended") &&
           json_i64(job, "status/partitionCounts/total", 1) == 0 &&
           json_i64(job, "status/observedGeneration", 0) == json_i64(job, "metadata/generation", 0);
}

void records_ended(struct world *world, const struct api_object *record)
{
    const char *name = json_str(record->doc, "data/jobName", "");
    const struct api_object *job = api_find(&world->api, "ipujobs", WORLD_NS, name);

    if (world->options.is_calm && !is_spent(record) && job &&
        str_eq(job->uid, json_str(record->doc, "data/jobUid", "")) && says_that_it_holds_nothing(job->doc))
        world_break(world, OWNED, "job %s said that it holds nothing, and its record %s was still there",
                    name, record->name);
}

/* ---- at rest ---- */

/* A record's job must be there, and not at its end; its partition must be there, as it says. */
static void check_record(struct world *world, const struct api_object *record)
{
    const char *name = json_str(record->doc, "data/jobName", "");
    const struct api_object *job = api_find(&world->api, "ipujobs", WORLD_NS, name);
    const char *state = json_str(job ? job->doc : NULL, "status/launcherStatus", "");

    if (is_spent(record) || records_are_stuck(world, name))
        return;
    if (!job || !str_eq(job->uid, json_str(record->doc, "data/jobUid", "")))
        world_break(world, OWNED, "record %s is of a job that has gone", record->name);
    else if (outcome_is_end(state) && !outcome_is_rejection(job->doc))
        world_break(world, OWNED, "record %s is of job %s, which is %s", record->name, name, state);
    else if (!is_releasing(record) && !records_find_partition(world, record->name))
        world_break(world, OWNED, "record %s of job %s has no partition", record->name, name);
}

static void check_partitions(struct world *world, size_t side)
{
    const struct controller *core = &world->sides[side].core;
    bool has_foreign = false;

    CONTROLLER_EACH (entry, core) {
        const char *id = entry->partition.id;
        const struct api_object *record = api_find(&world->api, "configmaps", WORLD_OPERATOR_NS, id);

        if (str_has_prefix(id, "foreign"))
            has_foreign = entry->number == world->foreign_numbers[side];
        else if (!record || is_spent(record))
            world_break(world, OWNED, "partition %s has no record", id);
    }
    if (!has_foreign)
        world_break(world, OWNED, "the foreign partition of %s has gone", world->sides[side].name);
}

void records_at_rest(struct world *world)
{
    void *value;

    for (size_t i = 0; map_next(all(world), &i, NULL, &value);)
        check_record(world, value);
    for (size_t i = 0; i < world->net.side_count; i++)
        check_partitions(world, i);
}
