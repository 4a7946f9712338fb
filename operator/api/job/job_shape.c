#include "operator/api/job/job.h"
#include "operator/api/names.h"

uint32_t int_or_percent_of(const struct int_or_percent *share, uint32_t total, bool round_up)
{
    uint64_t hundredths = (uint64_t)share->amount * total;

    if (!share->is_percent)
        return share->amount;
    return (uint32_t)((hundredths + (round_up ? 99 : 0)) / 100);
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t job_surge(const struct job_spec *spec)
{
    uint32_t surge = int_or_percent_of(&spec->max_surge, spec->instances, true);

    if (spec->has_launcher || spec->strategy == STRATEGY_RECREATE)
        return 0;
    return least(surge, least(spec->instances, JOB_INSTANCES_MAX - spec->instances));
}

bool job_is_of_other_operator(const struct job *job, const char *operator_ns)
{
    return job->operator_ns && !str_eq(job->operator_ns, operator_ns);
}

bool job_was_of_other_operator(const struct job *job, const char *operator_ns)
{
    return job->first_operator_ns && !str_eq(job->first_operator_ns, operator_ns);
}

char *job_hashed_partition(const struct job *job, const char *operator_ns, const char *prefix,
                           uint32_t instance, uint32_t attempt)
{
    AUTO(mem)
    char *later_uid = job_was_of_other_operator(job, operator_ns)
                          ? name_uid_of_later_operator(job->uid, operator_ns)
                          : NULL;

    return name_partition_hashed(prefix, job->name, later_uid ? later_uid : job->uid, instance, attempt);
}

bool job_is_managed_by_us(const struct job_spec *spec)
{
    return !spec->managed_by || !*spec->managed_by || str_eq(spec->managed_by, MANAGED_BY_US);
}

uint32_t job_pods_per_instance(const struct job_spec *spec)
{
    return spec->workers_per_instance + spec->has_launcher;
}

char *job_pod_name(const struct job *job, uint32_t instance, uint32_t pod_index)
{
    uint32_t workers = job->spec.workers_per_instance;

    return pod_index < workers ? name_worker_pod(job->name, instance * workers + pod_index)
                               : name_launcher_pod(job->name, instance);
}

bool job_needs_worker_service(const struct job_spec *spec)
{
    return job_has_several_workers(spec) && !spec->has_launcher;
}

bool job_has_several_workers(const struct job_spec *spec)
{
    return spec->workers_per_instance > 1;
}

bool job_has_popdist(const struct job_spec *spec)
{
    return spec->replicas_per_worker > 0 || job_has_several_workers(spec);
}

uint32_t job_worker_replicas(const struct job_spec *spec)
{
    return spec->replicas_per_worker ? spec->replicas_per_worker : 1;
}

uint32_t job_replicas(const struct job_spec *spec)
{
    return spec->workers_per_instance * job_worker_replicas(spec);
}

bool job_is_reconfigurable(const struct job_spec *spec)
{
    if (spec->reconfigurable >= 0)
        return spec->reconfigurable == 1;
    return !job_has_popdist(spec) && spec->gcds <= 1 && spec->ipus_per_instance <= JOB_IPUS_PER_DOMAIN;
}

uint32_t job_gcds(const struct job_spec *spec)
{
    /* At least one GCD per IPU-Link domain (V-IPU user guide). */
    uint32_t domains =
        spec->ipus_per_instance > JOB_IPUS_PER_DOMAIN ? spec->ipus_per_instance / JOB_IPUS_PER_DOMAIN : 1;

    if (spec->gcds)
        return spec->gcds;
    if (spec->reconfigurable == 1)
        return 1;
    return spec->workers_per_instance > domains ? spec->workers_per_instance : domains;
}

uint32_t job_slots(const struct job_spec *spec)
{
    uint32_t gcds = job_gcds(spec) / spec->workers_per_instance;

    if (spec->slots_per_worker)
        return spec->slots_per_worker;
    return gcds ? gcds : 1; /* a reconfigurable partition has one for all workers */
}

/* V-IPU requires whole replicas in each GCD. */
uint32_t job_vipu_replicas(const struct job_spec *spec)
{
    uint32_t gcds = job_gcds(spec), replicas = spec->workers_per_instance * spec->replicas_per_worker;

    return replicas && replicas % gcds == 0 ? replicas : gcds;
}

uint32_t job_limit_s(const struct job_spec *spec)
{
    uint32_t deadline_s = spec->active_deadline_s, ttl_s = spec->interactive_ttl_s;

    return ttl_s && (!deadline_s || ttl_s < deadline_s) ? ttl_s : deadline_s;
}

uint32_t job_pod_grace_s(const cJSON *pod_spec)
{
    const cJSON *value = json_at(pod_spec, "terminationGracePeriodSeconds");

    if (!cJSON_IsNumber(value))
        return POD_GRACE_S;
    return value->valuedouble < 0           ? 0
           : value->valuedouble < INT32_MAX ? (uint32_t)value->valuedouble
                                            : INT32_MAX;
}

/* A launcher inherits what it does not set. */
uint32_t job_grace_s(const cJSON *workers_template, const cJSON *launcher)
{
    const cJSON *own = json_at(launcher, "template/spec");
    uint32_t workers_s = job_pod_grace_s(json_at(workers_template, "spec"));
    uint32_t launcher_s = json_at(own, "terminationGracePeriodSeconds") ? job_pod_grace_s(own) : 0;

    return workers_s > launcher_s ? workers_s : launcher_s;
}
