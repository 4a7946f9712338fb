/* Users: they make jobs, and change their minds. */
#include <assert.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "cluster/pod_status.h"
#include "operator/api/names.h"
#include "world/world.h"

/* In a world that is asked for no number: one each of so many kinds. */
#define USUAL_JOBS 20u
/* An even number: it runs in the end. */
#define SWINGS 12u
/* When images that cannot be pulled can be. */
#define MENDED_MS 280000

static const struct user_class CLASSES[] = {{NULL, 0}, {"urgent", 1000}, {NULL, 0}, {"idle", -10}};

static void make_class(struct world *world, const struct user_class *class)
{
    cJSON *doc = json_object();

    json_put_str(doc, "apiVersion", "scheduling.k8s.io/v1");
    json_put_str(doc, "kind", "PriorityClass");
    json_put_str(json_put_object(doc, "metadata"), "name", class->name);
    json_put_i64(doc, "value", class->value);
    api_create(&world->api, "priorityclasses", doc);
}

static struct api_object *object_of(const struct user_job *job)
{
    return api_find(&job->world->api, "ipujobs", WORLD_NS, job->name);
}

/* Any size that one of the controllers has, and in four of five jobs a deadline. */
static void limit(cJSON *spec)
{
    json_put_strf(spec, "ipusPerJobInstance", "%u", 2u << dice_below(5));
    if (dice_permille(800))
        json_put_i64(spec, "activeDeadlineSeconds", dice_between(70, 300));
}

static void create(struct user_job *job)
{
    struct err err = {0};
    cJSON *doc = json_object();
    cJSON *metadata = json_put_object(doc, "metadata");
    cJSON *spec = json_parse(slice_of(job->kind->spec), &err);

    assert(spec);
    if (job->world->options.has_deadlines)
        limit(spec);
    json_put_str(doc, "apiVersion", "graphcore.ai/v1alpha1");
    json_put_str(doc, "kind", "IPUJob");
    json_put_str(metadata, "name", job->name);
    json_put_str(metadata, "namespace", WORLD_NS);
    if (job->world->options.has_preemption && dice_permille(800))
        json_put_str(json_put_object(metadata, "annotations"), ANNOTATION_PREEMPTIBLE, "true");
    json_put_take(doc, "spec", spec);
    json_put_str(json_at_mut(spec, "workers/template/spec"), "priorityClassName", job->class->name);
    job->failures = job->kind->pods == PODS_FAIL_TWICE ? 2 : 0;
    job->ended = NULL;
    parse_u32(json_str(spec, "ipusPerJobInstance", ""), 1, UINT32_MAX, &job->size);
    job->created_s = clock_unix_s();
    job->resumed_s = 0;
    job->waits_since_ms = 0;
    cJSON_Delete(TAKE(job->status));
    mem_set_str(&job->uid, NULL);
    mem_set_str(&job->uid, api_create(&job->world->api, "ipujobs", doc)->uid);
}

static void delete (struct user_job *job)
{
    struct api_object *object = object_of(job);

    if (object)
        api_delete(&job->world->api, object, -1);
}

static void set_spec(struct user_job *job, const char *key, cJSON *value_take)
{
    struct api_object *object = object_of(job);
    cJSON *metadata;

    if (!object) {
        cJSON_Delete(value_take);
        return;
    }
    metadata = json_at_mut(object->doc, "metadata");
    json_put_take(json_at_mut(object->doc, "spec"), key, value_take);
    json_put_i64(metadata, "generation", json_i64(metadata, "generation", 0) + 1);
    api_changed(&job->world->api, object);
}

static struct api_object *pod_of(const struct user_job *job)
{
    struct map *pods = api_objects(&job->world->api, "pods");
    void *value;

    for (size_t i = 0; map_next(pods, &i, NULL, &value);) {
        struct api_object *pod = value;

        if (str_eq(json_str(pod->doc, "metadata/labels/graphcore.ai~1job-name", ""), job->name))
            return pod;
    }
    return NULL;
}

static void set_image(struct user_job *job, const char *image)
{
    struct api_object *object = object_of(job);
    const cJSON *workers = json_at(object ? object->doc : NULL, "spec/workers");
    cJSON *changed = workers ? json_dup(workers) : NULL;
    cJSON *containers = json_at_mut(changed, "template/spec/containers");

    if (!containers)
        return;
    json_put_str(containers->child, "image", image);
    set_spec(job, "workers", changed);
}

static void kill_a_pod(struct user_job *job)
{
    struct api_object *pod = pod_of(job);

    if (pod)
        api_delete(&job->world->api, pod, 0);
}

static void drain_a_pod(struct user_job *job)
{
    struct api_object *pod = pod_of(job);

    if (!pod || json_at(pod->doc, "metadata/deletionTimestamp"))
        return;
    pod_status_disrupted(pod->doc, "EvictionByEvictionAPI");
    api_changed(&job->world->api, pod);
    api_delete(&job->world->api, pod, -1);
}

static void claim_a_pod(struct user_job *job)
{
    struct api_object *pod = pod_of(job);

    if (!pod)
        return;
    json_drop(json_at_mut(pod->doc, "metadata/annotations"), "graphcore.ai/partition");
    api_changed(&job->world->api, pod);
}

/* The API has ages in seconds, and which job is older must not depend on which was observed first: no two
 * jobs are created in the same second, as far as there are enough seconds. */
static bool has_its_turn(const struct world *world)
{
    char now[TIMEFMT_RFC3339_SIZE];

    timefmt_rfc3339(clock_unix_s(), now);
    for (size_t i = 0; i < world->job_count && world->job_count < ARRIVALS_MS / 1000; i++) {
        const struct api_object *object = object_of(&world->jobs[i]);

        if (object && str_eq(json_str(object->doc, "metadata/creationTimestamp", ""), now))
            return false;
    }
    return true;
}

/* Once it has passed others by its deadline. The simulation has no webhooks. In strict order nobody passes
 * others: a raised deadline counts, and may be longer than the simulation. */
static void raise_deadline(struct user_job *job)
{
    const struct api_object *object = object_of(job);
    const cJSON *doc = object ? object->doc : NULL;
    int64_t deadline_s = json_i64(doc, "spec/activeDeadlineSeconds", 0);

    if (job->world->options.policy != FORECAST_STRICT && deadline_s &&
        str_eq(json_str(doc, "status/launcherStatus", ""), "Running"))
        set_spec(job, "activeDeadlineSeconds",
                 cJSON_CreateNumber((double)(deadline_s + dice_between(60, 600))));
}

/* Suspended when it runs, resumed when it is suspended. */
static int64_t swing(struct user_job *job)
{
    const struct api_object *object = object_of(job);
    const char *state = json_str(object ? object->doc : NULL, "status/launcherStatus", "");
    const char *reason = json_str(object ? object->doc : NULL, "status/reason", "");
    bool is_suspended = json_bool(object ? object->doc : NULL, "spec/suspend", false);

    if (str_eq(state, is_suspended ? "Suspended" : "Running") &&
        str_eq(reason, is_suspended ? "Suspended" : "Running")) {
        if (job->swings == SWINGS)
            return -1;
        job->swings++;
        if (is_suspended && !json_at(object->doc, "status/startTime"))
            job->resumed_s = clock_unix_s();
        set_spec(job, "suspend", cJSON_CreateBool(!is_suspended));
    }
    return dice_between(10, 2000);
}

/* One step; returns when the next one is, or -1. */
static int64_t act(struct user_job *job)
{
    unsigned step = job->step;

    if (step == 0 && !has_its_turn(job->world))
        return 100;
    job->step++;
    if (step == 0) {
        create(job);
        if (job->kind->user == USER_WAITS && !job->world->options.has_deadlines)
            return -1;
        return dice_between(500, 60000);
    }
    switch (job->kind->user) {
    case USER_WAITS:
        raise_deadline(job);
        break;
    case USER_DELETES:
        delete (job);
        break;
    case USER_DELETES_TWICE:
    case USER_REPLACES_BY_FORCE:
        if (step == 1) {
            if (job->kind->user == USER_REPLACES_BY_FORCE)
                kill_a_pod(job);
            delete (job);
        } else if (!object_of(job) && has_its_turn(job->world)) {
            create(job);
            break;
        }
        return 100;
    case USER_SUSPENDS:
        set_spec(job, "suspend", cJSON_CreateBool(step == 1));
        return step == 1 ? dice_between(500, 60000) : -1;
    case USER_IS_RESTLESS:
        return swing(job);
    case USER_SCALES:
        set_spec(job, "jobInstances", cJSON_CreateNumber(step < 4 ? (double)dice_between(0, 4) : 1));
        return step < 4 ? dice_between(500, 40000) : -1;
    case USER_DRAINS_PODS:
        drain_a_pod(job);
        return step < 3 ? dice_between(500, 40000) : -1;
    case USER_CHANGES:
        set_image(job, step == 1 ? "train:2" : "train:3");
        return step < 2 ? dice_between(500, 60000) : -1;
    case USER_CLAIMS_PODS:
        claim_a_pod(job);
        return step < 2 ? dice_between(500, 40000) : -1;
    case USER_KILLS_PODS:
        kill_a_pod(job);
        return step < 3 ? dice_between(500, 40000) : -1;
    }
    return -1;
}

static void on_step(void *ctx)
{
    struct user_job *job = ctx;
    int64_t delay;

    job->next = NULL;
    delay = act(job);
    if (delay >= 0)
        job->next = clock_plan(delay, NULL, on_step, job);
}

static const struct kind *kind_named(const char *name)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (str_eq(KINDS[i].name, name))
            return &KINDS[i];
    }
    return NULL;
}

/* Each in a second of its own, if there are enough. */
static int64_t arrival_ms(size_t place, size_t count)
{
    int64_t share = ARRIVALS_MS / (int64_t)count;

    return (int64_t)place * share + dice_between(0, share > 1000 ? share - 1000 : share);
}

/* Jobs that never can start, and are more than the IPUs are enough for, take turns forever: of the first
 * round of kinds alone nobody mends the image. */
static const struct kind *kind_of_job(size_t first_kind, size_t i)
{
    const struct kind *kind = &KINDS[(first_kind + i) % KIND_COUNT];

    return i >= KIND_COUNT && str_eq(kind->name, "held-up") ? kind_named("late") : kind;
}

void world_plan_users(struct world *world)
{
    const struct kind *only = world->options.kind ? kind_named(world->options.kind) : NULL;
    size_t count = world->options.jobs ? world->options.jobs : USUAL_JOBS;
    size_t first = dice_below((uint32_t)count), first_kind = dice_below((uint32_t)KIND_COUNT);

    for (size_t i = 0; i < COUNT_OF(CLASSES); i++) {
        if (CLASSES[i].name)
            make_class(world, &CLASSES[i]);
    }
    world->jobs = mem_alloc(count * sizeof(*world->jobs));
    world->job_count = count;
    for (size_t i = 0; i < count; i++) {
        struct user_job *job = &world->jobs[i];

        job->world = world;
        job->kind = only ? only : kind_of_job(first_kind, i);
        job->class = &CLASSES[(world->options.seed + i) % COUNT_OF(CLASSES)];
        job->name = mem_printf("%s-%zu", job->kind->name, i);
        job->next = clock_plan(arrival_ms((i + first) % count, count), NULL, on_step, job);
    }
}

void world_users_release(struct world *world)
{
    for (size_t i = 0; i < world->job_count; i++) {
        clock_cancel(world->jobs[i].next);
        mem_free(world->jobs[i].name);
        mem_free(world->jobs[i].uid);
        cJSON_Delete(world->jobs[i].status);
    }
    mem_free(world->jobs);
}

struct user_job *world_job(const struct world *world, const char *name)
{
    const char *dash = strrchr(name, '-');
    uint32_t place = 0;

    if (!dash || !parse_u32(dash + 1, 0, UINT32_MAX, &place) || place >= world->job_count)
        return NULL;
    return str_eq(world->jobs[place].name, name) ? &world->jobs[place] : NULL;
}

/* A worker that waits for the launcher to be used. */
static bool is_agent(const struct kind *kind, const cJSON *pod)
{
    return strstr(kind->spec, "\"launcher\"") &&
           str_eq(json_str(pod, "metadata/labels/graphcore.ai~1role", ""), "worker");
}

struct habit world_habit(void *ctx, const cJSON *pod)
{
    struct world *world = ctx;
    struct user_job *job = world_job(world, json_str(pod, "metadata/labels/graphcore.ai~1job-name", "-"));
    struct habit habit = {.how = POD_RUNS, .runs_ms = dice_between(100, 60000)};

    if (!job)
        return habit;
    if (is_agent(job->kind, pod)) {
        habit.runs_ms = -1;
        return habit;
    }
    switch (job->kind->pods) {
    case PODS_SUCCEED:
        break;
    case PODS_FAIL:
        habit.exit_code = 3;
        break;
    case PODS_FAIL_TWICE:
        if (job->failures) {
            job->failures--;
            habit.exit_code = 3;
        }
        break;
    case PODS_RUN_FOR_EVER:
        habit.runs_ms = -1;
        break;
    case PODS_CANNOT_PULL:
        habit.how = POD_CANNOT_PULL;
        break;
    case PODS_PULL_LATE:
        habit.pulls_at_ms = world->began_ms + MENDED_MS;
        habit.how = clock_now_ms() < habit.pulls_at_ms ? POD_CANNOT_PULL : POD_RUNS;
        break;
    case PODS_FIT_NOWHERE:
        habit.how = POD_FITS_NOWHERE;
        break;
    }
    return habit;
}
