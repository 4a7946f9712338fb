#include "local/job/job_check.h"

#include <string.h>

#include "base/core/mem.h"
#include "local/job/metadata_check.h"
#include "local/job/pod_support.h"
#include "local/job/references.h"
#include "operator/api/admission/defaults.h"
#include "operator/api/job/jobspec.h"
#include "operator/api/admission/warnings.h"
#include "operator/api/names.h"
#include "operator/serve/webhooks/admission.h"

#define OBJECT_MAX_BYTES ((size_t)3 * 512 * 1024)

/* Every step of it adds a member at a path of keys; see defaults.h. */
static void apply_defaults(cJSON *job)
{
    AUTO(json) cJSON *patch = defaults_patch(job);

    JSON_EACH (step, patch) {
        const char *path = json_str(step, "path", "/") + 1;
        const char *last = strrchr(path, '/');
        AUTO(mem) char *parent = mem_strndup(path, last ? (size_t)(last - path) : 0);

        json_put_take(json_at_mut(job, parent), last ? last + 1 : path, json_dup(json_at(step, "value")));
    }
}

/* Pods have this machine's network in any case, and ports of their own if the operator knows that. */
static void leave_network_out(cJSON *job)
{
    static const char *const specs[] = {"spec/workers/template/spec", "spec/launcher/template/spec"};

    for (size_t i = 0; i < COUNT_OF(specs); i++)
        json_drop(json_at_mut(job, specs[i]), "hostNetwork");
}

/* An API server does not store more: etcd's default limit of a request. */
static bool has_size(const struct object *object, struct strv *problems)
{
    AUTO(mem) char *text = json_print(object->doc);

    if (strlen(text) <= OBJECT_MAX_BYTES)
        return true;
    object_add_problem(object, "larger than the 1.5 MiB that a cluster stores of an object", problems);
    return false;
}

/* Of the simulated system, whose size is 0 if there is another one. */
static void check_size(const struct object *job, uint32_t wanted, uint32_t ipus, struct strv *problems)
{
    AUTO(mem)
    char *problem = mem_printf("spec.ipusPerJobInstance: the job would never start: the simulated system has "
                               "%u IPUs; use --ipus %u",
                               ipus, wanted);

    if (wanted & (wanted - 1))
        object_add_problem(job,
                           "spec.ipusPerJobInstance: the job would never start: partitions have a power of "
                           "two of IPUs; choose another size",
                           problems);
    else if (ipus && wanted > ipus)
        object_add_problem(job, problem, problems);
}

/* Nobody else is here to run, resume or scale it. */
static void check_end(const struct object *job, uint32_t ipus, struct strv *problems)
{
    AUTO(jobspec) struct job_spec spec = {0};
    AUTO(strv) struct strv unused = {0};

    jobspec_read(job->doc, &spec, &unused);
    check_size(job, spec.ipus_per_instance, ipus, problems);
    if (!job_is_managed_by_us(&spec))
        object_add_problem(
            job,
            "spec.managedBy: not possible without a cluster; another operator would have to run "
            "the job; run it here, with --set spec.managedBy=null",
            problems);
    if (spec.suspend)
        object_add_problem(
            job,
            "spec.suspend: not possible without a cluster; nobody would resume the job; run it, "
            "with --set spec.suspend=false",
            problems);
    if (!spec.instances)
        object_add_problem(
            job,
            "spec.jobInstances: not possible without a cluster; nobody would scale the job up; "
            "run one instance, with --set spec.jobInstances=1",
            problems);
}

/* Whether a cluster would store the object. */
static bool is_admitted(const struct object *object, struct strv *problems)
{
    AUTO(strv) struct strv found = {0};

    metadata_check(object, &found);
    if (object_is_kind(object, API_KIND))
        admission_validate(&(struct admission){.object = object->doc}, &found);
    for (size_t i = 0; i < found.count; i++)
        object_add_problem(object, found.items[i], problems);
    return !found.count;
}

static void check_job(struct object *job, const struct objects *objects, enum engine engine, bool is_strict,
                      uint32_t ipus, struct strv *notes, struct strv *warnings, struct strv *problems)
{
    const struct warning_facts facts = {.largest_partition = ipus};
    const bool is_valid = is_admitted(job, problems);

    pod_support_check(job, engine, is_strict, notes, problems);
    references_check(job, objects, problems);
    if (!is_valid)
        return;
    check_end(job, ipus, problems);
    warnings_for_job(NULL, job->doc, &facts, warnings);
    apply_defaults(job->doc);
    leave_network_out(job->doc);
}

static void check_name(const struct objects *objects, const struct object *object, struct strv *problems)
{
    const char *name = json_str(object->doc, "metadata/name", NULL);

    if (name && objects_find(objects, json_str(object->doc, "kind", ""),
                             json_str(object->doc, "metadata/namespace", ""), name) != object)
        object_add_problem(object, "metadata.name: Duplicate value: another object has this name", problems);
}

/* Without a job, the kind of an object is probably a mistyped one. */
static void tell_unused(const struct object *object, bool is_problem, struct strv *notes,
                        struct strv *problems)
{
    const char *kind = json_str(object->original, "kind", "");
    AUTO(mem) char *what = mem_printf("%s %s", kind, json_str(object->original, "metadata/name", ""));
    AUTO(mem) char *line = pod_support_line(SUPPORT_IGNORED, what, "there is no cluster");
    AUTO(mem)
    char *problem = mem_printf("kind: Unsupported value: \"%.80s\": supported values: \"" API_KIND
                               "\", \"ConfigMap\", \"Secret\", \"PriorityClass\"",
                               kind);

    if (is_problem)
        object_add_problem(object, problem, problems);
    else
        strv_push(notes, line);
}

void job_check_all(struct objects *objects, enum engine engine, bool is_strict, uint32_t ipus,
                   struct strv *notes, struct strv *warnings, struct strv *problems)
{
    size_t jobs = 0;

    for (size_t i = 0; i < objects->count; i++) {
        struct object *object = &objects->items[i];

        jobs += object_is_kind(object, API_KIND);
        check_name(objects, object, problems);
        references_check_values(object, problems);
        if (!has_size(object, problems))
            continue;
        if (object_is_kind(object, API_KIND))
            check_job(object, objects, engine, is_strict, ipus, notes, warnings, problems);
        else
            (void)is_admitted(object, problems);
    }
    for (size_t i = 0; i < objects->unused_count; i++)
        tell_unused(&objects->unused[i], is_strict || jobs == 0, notes, problems);
    if (jobs == 0 && problems->count == 0)
        strv_push(problems, "there is no IPUJob in the files");
}
