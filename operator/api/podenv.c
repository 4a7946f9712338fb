#include "operator/api/podenv.h"

#include "base/core/mem.h"
#include "operator/api/names.h"

static bool has(const cJSON *list, const char *name)
{
    JSON_EACH (item, list) {
        if (str_eq(json_str(item, "name", ""), name))
            return true;
    }
    return false;
}

static cJSON *add(struct podenv *env, const char *name)
{
    cJSON *item = json_push_take(env->list, json_object());

    json_put_strf(item, "name", "%s%s", env->by_default ? "IPU_DEFAULT_" : "", name);
    return item;
}

void podenv_add(struct podenv *env, const char *name, const char *value)
{
    if (value && !has(env->list, name))
        json_put_str(add(env, name), "value", value);
}

void podenv_add_secret(struct podenv *env, const char *name, const char *secret, const char *key)
{
    cJSON *from;

    if (has(env->list, name))
        return;
    from = json_put_object(json_put_object(add(env, name), "valueFrom"), "secretKeyRef");
    json_put_str(from, "name", secret);
    json_put_str(from, "key", key);
}

bool podenv_has(const struct podenv *env, const char *name)
{
    return has(env->list, name);
}

void podenv_add_number(struct podenv *env, const char *name, uint32_t value)
{
    AUTO(mem) char *text = mem_printf("%u", value);

    podenv_add(env, name, text);
}

void podenv_add_partition(struct podenv *env, const struct podspec_place *place)
{
    podenv_add(env, "IPUOF_VIPU_API_HOST", place->vipu_host);
    podenv_add_number(env, "IPUOF_VIPU_API_PORT", place->vipu_port);
    podenv_add(env, "IPUOF_VIPU_API_PARTITION_ID", place->partition);
    podenv_add(env, "IPUOF_VIPU_API_TIMEOUT", "120");
    podenv_add(env, "IPUOF_LOG_LEVEL", "WARN");
}

void podenv_add_gcd(struct podenv *env, uint32_t worker, const struct podspec_place *place)
{
    if (!place->reconfigurable)
        podenv_add_number(env, "IPUOF_VIPU_API_GCD_ID", worker);
}

static char *master_address(const struct job *job, uint32_t instance)
{
    AUTO(mem)
    char *host = name_worker_host(job->name, job->uid, instance * job->spec.workers_per_instance);
    AUTO(mem) char *service = name_worker_service(job->name, job->uid);

    return mem_printf("%s.%s.%s.svc", host, service, job->ns);
}

/* Ours alone: there is nothing of the user's to respect. */
static struct podenv plain(const struct podenv *env)
{
    return (struct podenv){.list = env->list};
}

void podenv_add_instance(struct podenv *env, const struct job *job, uint32_t instance)
{
    const struct job_spec *spec = &job->spec;
    struct podenv ours = plain(env);

    podenv_add_number(&ours, "IPU_JOB_IPUS_PER_INSTANCE", spec->ipus_per_instance);
    podenv_add_number(&ours, "IPU_JOB_INSTANCES", spec->instances);
    podenv_add_number(&ours, "IPU_JOB_INSTANCE_INDEX", instance);
    podenv_add_number(&ours, "IPU_JOB_WORKERS", spec->workers_per_instance);
}

void podenv_add_worker(struct podenv *env, const struct job *job, uint32_t instance, uint32_t worker,
                       const struct podspec_place *place)
{
    const struct job_spec *spec = &job->spec;
    struct podenv ours = plain(env);

    podenv_add_number(&ours, "IPU_JOB_WORKER_INDEX", worker);
    if (spec->replicas_per_worker)
        podenv_add_number(&ours, "IPU_JOB_REPLICAS_PER_WORKER", spec->replicas_per_worker);
    if (job_has_several_workers(spec))
        podenv_add(&ours, "IPU_JOB_TARGET_OPTIONS", place->target_options);
    if (job_meets_by_name(spec)) {
        AUTO(mem) char *master = master_address(job, instance);

        podenv_add(&ours, "IPU_JOB_MASTER_ADDR", master);
        podenv_add_number(&ours, "IPU_JOB_MASTER_PORT", name_master_port(job->uid, instance));
    }
}

void podenv_add_start(struct podenv *env, const struct job *job, const struct podspec_place *place)
{
    struct podenv ours = plain(env);

    podenv_add(&ours, "IPU_JOB_UID", job->uid);
    podenv_add_number(&ours, "IPU_JOB_ATTEMPT", place->start);
}

void podenv_add_results(struct podenv *env, const struct job *job, uint32_t instance, uint32_t worker,
                        const struct podspec_place *place)
{
    const struct job_spec *spec = &job->spec;
    uint32_t local = job_worker_replicas(spec), total = job_replicas(spec);

    if (!job_has_popdist(spec))
        return;
    podenv_add_number(env, "POPDIST_NUM_TOTAL_REPLICAS", total);
    podenv_add_number(env, "POPDIST_NUM_IPUS_PER_REPLICA", spec->ipus_per_instance / total);
    podenv_add_number(env, "POPDIST_NUM_LOCAL_REPLICAS", local);
    podenv_add(env, "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE", "1");
    podenv_add_number(env, "POPDIST_REPLICA_INDEX_OFFSET", worker * local);
    podenv_add(env, "POPDIST_LOCAL_INSTANCE_INDEX", "0");
    if (!job_has_several_workers(spec))
        return;

    AUTO(mem) char *master = master_address(job, instance);

    podenv_add(env, "POPLAR_TARGET_OPTIONS", place->target_options);
    podenv_add_number(env, "RANK", worker);
    podenv_add_number(env, "WORLD_SIZE", spec->workers_per_instance);
    podenv_add(env, "LOCAL_RANK", "0");
    podenv_add(env, "MASTER_ADDR", master);
    podenv_add_number(env, "MASTER_PORT", name_master_port(job->uid, instance));
}
