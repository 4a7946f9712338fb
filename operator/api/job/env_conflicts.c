#include "operator/api/job/env_conflicts.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/api/field.h"

/* The value that the job's fields give a variable; false: they do not define it. */
typedef bool (*share_fn)(const struct job_spec *spec, uint32_t *ret);

static bool has_results(const struct job_spec *spec)
{
    return job_has_popdist(spec) && !spec->has_launcher && spec->ipus_per_instance > 0;
}

static bool total_replicas(const struct job_spec *spec, uint32_t *ret)
{
    *ret = job_replicas(spec);
    return has_results(spec);
}

static bool replica_ipus(const struct job_spec *spec, uint32_t *ret)
{
    *ret = spec->ipus_per_instance / job_replicas(spec);
    return has_results(spec);
}

static bool own_replicas(const struct job_spec *spec, uint32_t *ret)
{
    *ret = job_worker_replicas(spec);
    return has_results(spec);
}

static bool world_size(const struct job_spec *spec, uint32_t *ret)
{
    *ret = spec->workers_per_instance;
    return has_results(spec) && job_has_several_workers(spec);
}

static const struct {
    const char *name;
    share_fn share;
} SHARES[] = {
    {"POPDIST_NUM_TOTAL_REPLICAS", total_replicas},
    {"POPDIST_NUM_IPUS_PER_REPLICA", replica_ipus},
    {"POPDIST_NUM_LOCAL_REPLICAS", own_replicas},
    {"WORLD_SIZE", world_size},
};

/* Differs between workers, so no template can set it. */
static const char *const OF_ONE_WORKER[] = {"IPUOF_VIPU_API_GCD_ID", "POPDIST_REPLICA_INDEX_OFFSET", "RANK"};

static const char *literal(const cJSON *variable)
{
    const char *value = json_str(variable, "value", NULL);

    return value && *value && !strstr(value, "$(") ? value : NULL;
}

static bool says(const char *value, uint32_t number)
{
    char *end;
    unsigned long given = strtoul(value, &end, 10);

    return *end == '\0' && given == number;
}

static bool is_of_one_worker(const struct job_spec *spec, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(OF_ONE_WORKER); i++) {
        if (str_eq(name, OF_ONE_WORKER[i]))
            return job_has_several_workers(spec) && !(spec->has_launcher && i > 0);
    }
    return false;
}

/* The environment form of spec.launcher.slotsPerWorker. */
static void check_slots(const cJSON *at, const char *value, const char *path, const struct job_spec *spec,
                        struct strv *problems)
{
    AUTO(mem) char *what = NULL;
    uint32_t slots;

    if (!parse_u32(value, 1, JOB_SLOTS_MAX, &slots))
        what = mem_printf("must be a whole number from 1 to %u; use spec.launcher.slotsPerWorker instead",
                          JOB_SLOTS_MAX);
    else if (spec->slots_per_worker && spec->slots_per_worker != slots)
        what = mem_printf("contradicts spec.launcher.slotsPerWorker, which is %u; remove one of them",
                          spec->slots_per_worker);
    if (what)
        field_invalid(problems, path, at, what);
}

static void check_variable(const cJSON *variable, const char *path, const struct job_spec *spec,
                           struct strv *problems)
{
    const char *name = json_str(variable, "name", ""), *value = literal(variable);
    const cJSON *at = json_at(variable, "value");
    uint32_t number;

    if (!value)
        return;
    if (str_eq(name, "IPUOF_VIPU_API_PARTITION_ID"))
        field_invalid(problems, path, at, "is set by the operator; remove it");
    if (is_of_one_worker(spec, name))
        field_invalid(problems, path, at, "differs per worker and is set by the operator; remove it");
    if (spec->has_launcher && str_eq(name, "IPU_JOB_SLOTS"))
        check_slots(at, value, path, spec, problems);
    for (size_t i = 0; i < COUNT_OF(SHARES); i++) {
        if (!str_eq(name, SHARES[i].name) || !SHARES[i].share(spec, &number) || says(value, number))
            continue;
        AUTO(mem)
        char *what = mem_printf(
            "contradicts the job's IPUs, workers and replicas, which give %u; remove it or change them",
            number);

        field_invalid(problems, path, at, what);
    }
}

static void check_list(const cJSON *list, const char *list_path, const struct job_spec *spec,
                       struct strv *problems)
{
    size_t n = 0;

    if (!cJSON_IsArray(list))
        return;
    JSON_EACH (variable, list) {
        AUTO(mem) char *path = mem_printf("%s[%zu]/value", list_path, n++);

        check_variable(variable, path, spec, problems);
    }
}

/* Only the first container gets these variables. */
static void check_template(const cJSON *job, const char *template_path, const struct job_spec *spec,
                           struct strv *problems)
{
    AUTO(mem) char *path = mem_printf("%s/spec/containers", template_path);
    AUTO(mem) char *env = mem_printf("%s[0]/env", path);
    const cJSON *containers = field_at(job, path);

    if (cJSON_IsArray(containers) && containers->child)
        check_list(json_at(containers->child, "env"), env, spec, problems);
}

void env_conflicts_check(const cJSON *job, const struct job_spec *spec, struct strv *problems)
{
    check_template(job, "spec/workers/template", spec, problems);
    if (!spec->has_launcher)
        return;
    check_template(job, "spec/launcher/template", spec, problems);
    check_list(field_at(job, "spec/launcher/env"), "spec/launcher/env", spec, problems);
}
