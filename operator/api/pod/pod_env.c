#include "operator/api/pod/pod_env.h"

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

static cJSON *add(struct pod_env *env, const char *name)
{
    cJSON *item = json_push_take(env->list, json_object());

    json_put_strf(item, "name", "%s%s", env->by_default ? "IPU_DEFAULT_" : "", name);
    return item;
}

void pod_env_add(struct pod_env *env, const char *name, const char *value)
{
    if (value && !has(env->list, name))
        json_put_str(add(env, name), "value", value);
}

void pod_env_add_secret(struct pod_env *env, const char *name, const char *secret, const char *key)
{
    cJSON *from;

    if (has(env->list, name))
        return;
    from = json_put_object(json_put_object(add(env, name), "valueFrom"), "secretKeyRef");
    json_put_str(from, "name", secret);
    json_put_str(from, "key", key);
}

bool pod_env_has(const struct pod_env *env, const char *name)
{
    return has(env->list, name);
}

void pod_env_add_number(struct pod_env *env, const char *name, uint32_t value)
{
    AUTO(mem) char *text = mem_printf("%u", value);

    pod_env_add(env, name, text);
}

void pod_env_add_partition(struct pod_env *env, const struct partition_placement *place)
{
    pod_env_add(env, "IPUOF_VIPU_API_HOST", place->vipu_host);
    pod_env_add_number(env, "IPUOF_VIPU_API_PORT", place->vipu_port);
    pod_env_add(env, "IPUOF_VIPU_API_PARTITION_ID", place->partition);
    pod_env_add(env, "IPUOF_VIPU_API_TIMEOUT", "120");
    pod_env_add(env, "IPUOF_LOG_LEVEL", "WARN");
}

/* A program that is killed, at a deadline or for its memory, loses what it has buffered. */
void pod_env_add_python(struct pod_env *env)
{
    pod_env_add(env, "PYTHONUNBUFFERED", "1");
}

void pod_env_add_gcd(struct pod_env *env, uint32_t worker, const struct partition_placement *place)
{
    if (!place->reconfigurable)
        pod_env_add_number(env, "IPUOF_VIPU_API_GCD_ID", worker);
}

static char *master_address(const struct job *job, uint32_t instance)
{
    AUTO(mem)
    char *host = name_worker_host(job->name, job->uid, instance * job->spec.workers_per_instance);
    AUTO(mem) char *service = name_worker_service(job->name, job->uid);

    return mem_printf("%s.%s.%s.svc", host, service, job->ns);
}

/* Only this operator sets it: a user's value cannot exist. */
static struct pod_env plain(const struct pod_env *env)
{
    return (struct pod_env){.list = env->list};
}

void pod_env_add_instance(struct pod_env *env, const struct job *job, uint32_t instance)
{
    const struct job_spec *spec = &job->spec;
    struct pod_env ours = plain(env);

    pod_env_add_number(&ours, "IPU_JOB_IPUS_PER_INSTANCE", spec->ipus_per_instance);
    pod_env_add_number(&ours, "IPU_JOB_INSTANCES", spec->instances);
    pod_env_add_number(&ours, "IPU_JOB_INSTANCE_INDEX", instance);
    pod_env_add_number(&ours, "IPU_JOB_WORKERS", spec->workers_per_instance);
    pod_env_add_number(&ours, "IPU_JOB_MASTER_PORT", name_master_port(job->uid, instance));
}

void pod_env_add_field(struct pod_env *env, const char *name, const char *path)
{
    struct pod_env ours = plain(env);

    json_put_str(json_put_object(json_put_object(add(&ours, name), "valueFrom"), "fieldRef"), "fieldPath",
                 path);
}

void pod_env_add_address(struct pod_env *env)
{
    pod_env_add_field(env, "IPU_JOB_ADDRESS", "status.podIP");
}

void pod_env_add_mpi(struct pod_env *env)
{
    static const char *const names[] = {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                                        "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        pod_env_add(env, names[i], "1");
}

void pod_env_add_mpi_agent(struct pod_env *env, const char *program)
{
    AUTO(mem) char *agents = mem_printf("ssh : rsh : %s", program);

    pod_env_add(env, "OMPI_MCA_plm_rsh_agent", agents);
    pod_env_add(env, "PRTE_MCA_plm_ssh_agent", agents);
}

void pod_env_add_worker(struct pod_env *env, const struct job *job, uint32_t instance, uint32_t worker,
                        const struct partition_placement *place)
{
    const struct job_spec *spec = &job->spec;
    struct pod_env ours = plain(env);

    pod_env_add_number(&ours, "IPU_JOB_WORKER_INDEX", worker);
    if (spec->replicas_per_worker)
        pod_env_add_number(&ours, "IPU_JOB_REPLICAS_PER_WORKER", spec->replicas_per_worker);
    if (job_has_several_workers(spec))
        pod_env_add(&ours, "IPU_JOB_TARGET_OPTIONS", place->target_options);
    if (job_needs_worker_service(spec)) {
        AUTO(mem) char *master = master_address(job, instance);

        pod_env_add(&ours, "IPU_JOB_MASTER_ADDR", master);
    }
}

void pod_env_add_start(struct pod_env *env, const struct job *job, const struct partition_placement *place)
{
    struct pod_env ours = plain(env);

    pod_env_add(&ours, "IPU_JOB_UID", job->uid);
    pod_env_add_number(&ours, "IPU_JOB_ATTEMPT", place->start);
}

void pod_env_add_results(struct pod_env *env, const struct job *job, uint32_t instance, uint32_t worker,
                         const struct partition_placement *place)
{
    const struct job_spec *spec = &job->spec;
    uint32_t local = job_worker_replicas(spec), total = job_replicas(spec);

    if (!job_has_popdist(spec))
        return;
    pod_env_add_number(env, "POPDIST_NUM_TOTAL_REPLICAS", total);
    pod_env_add_number(env, "POPDIST_NUM_IPUS_PER_REPLICA", spec->ipus_per_instance / total);
    pod_env_add_number(env, "POPDIST_NUM_LOCAL_REPLICAS", local);
    pod_env_add(env, "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE", "1");
    pod_env_add_number(env, "POPDIST_REPLICA_INDEX_OFFSET", worker * local);
    pod_env_add(env, "POPDIST_LOCAL_INSTANCE_INDEX", "0");
    if (!job_has_several_workers(spec))
        return;

    AUTO(mem) char *master = master_address(job, instance);

    pod_env_add(env, "POPLAR_TARGET_OPTIONS", place->target_options);
    pod_env_add_number(env, "RANK", worker);
    pod_env_add_number(env, "WORLD_SIZE", spec->workers_per_instance);
    pod_env_add(env, "LOCAL_RANK", "0");
    pod_env_add(env, "MASTER_ADDR", master);
    pod_env_add_number(env, "MASTER_PORT", name_master_port(job->uid, instance));
}
