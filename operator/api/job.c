#include "operator/api/job.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/timefmt.h"
#include "operator/api/job_read.h"
#include "operator/api/names.h"

#define IPUS_MAX (1u << 16)
#define WORKERS_MAX 4096

static bool is_power_of_two(uint32_t n)
{
    return n && (n & (n - 1)) == 0;
}

static void read_ipus(struct job *job, const cJSON *spec)
{
    const cJSON *value = json_at(spec, "ipusPerJobInstance");
    uint32_t ipus = 0;

    if (!value || !job_count_read(value, &ipus) || ipus == 0 || ipus > IPUS_MAX ||
        (ipus <= IPUS_PER_DOMAIN ? !is_power_of_two(ipus) : ipus % IPUS_PER_DOMAIN != 0)) {
        job_problem(job, "ipusPerJobInstance", value,
                    "must be a power of two from 1 to 64, or a multiple of 64 above that");
        return;
    }
    job->spec.ipus_per_instance = ipus;
}

/* workersPerJobInstance; if absent workers.replicas, whose default 1 counts as absent. */
static void read_workers(struct job *job, const cJSON *spec)
{
    uint32_t per_instance = job_count_field(job, spec, "workersPerJobInstance", 1, WORKERS_MAX, 0);
    uint32_t replicas = job_count_field(job, spec, "workers/replicas", 1, WORKERS_MAX, 1);

    if (per_instance && replicas != 1 && replicas != per_instance)
        strv_pushf(&job->problems,
                   "spec.workers.replicas: is %u, but spec.workersPerJobInstance is %u; give one of them, or "
                   "make them equal",
                   replicas, per_instance);
    job->spec.workers_per_instance = per_instance ? per_instance : replicas;
}

static void check_shares(struct job *job)
{
    const struct job_spec *spec = &job->spec;
    uint32_t replicas = spec->replicas_per_worker ? spec->replicas_per_worker : 1;
    uint64_t shares = (uint64_t)spec->workers_per_instance * replicas;

    if (!spec->ipus_per_instance || !job_has_popdist(spec))
        return;
    if (spec->ipus_per_instance % shares != 0)
        strv_pushf(
            &job->problems,
            "spec.ipusPerJobInstance: %u IPUs cannot be shared equally by %u worker(s) x %u model replica(s)",
            spec->ipus_per_instance, spec->workers_per_instance, replicas);
    else if (!is_power_of_two(spec->workers_per_instance))
        strv_pushf(&job->problems,
                   "spec.workersPerJobInstance: must be a power of two, because every worker gets one GCD of "
                   "the partition, got %u",
                   spec->workers_per_instance);
}

static void read_partition(struct job *job, const cJSON *spec)
{
    const cJSON *partition = json_at(spec, "partition");
    const cJSON *reconfigurable = json_at(partition, "reconfigurable");

    job->spec.reconfigurable = cJSON_IsBool(reconfigurable) ? cJSON_IsTrue(reconfigurable) : -1;
    job->spec.gcds = job_count_field(job, spec, "partition/gcds", 1, WORKERS_MAX, 0);
    job->spec.sync_type = mem_strdup(json_str(partition, "syncType", NULL));
    job->spec.routing = mem_strdup(json_str(partition, "routing", NULL));
    job->spec.allocation = mem_strdup(json_str(partition, "allocation", NULL));
    if (job->spec.gcds && job->spec.ipus_per_instance % job->spec.gcds != 0)
        strv_pushf(&job->problems,
                   "spec.partition.gcds: %u does not divide the %u IPUs of spec.ipusPerJobInstance",
                   job->spec.gcds, job->spec.ipus_per_instance);
    if (job->spec.gcds && job->spec.gcds < job->spec.workers_per_instance && job->spec.reconfigurable != 1)
        strv_pushf(&job->problems,
                   "spec.partition.gcds: every one of the %u workers needs a GCD of its own, got %u",
                   job->spec.workers_per_instance, job->spec.gcds);
    if (job->spec.reconfigurable == 1 &&
        (job->spec.gcds > 1 || job->spec.ipus_per_instance > IPUS_PER_DOMAIN))
        strv_push(
            &job->problems,
            "spec.partition.reconfigurable: a reconfigurable partition has one GCD and at most 64 IPUs");
}

static void read_template(struct job *job, const cJSON *spec)
{
    const cJSON *pod_template = json_at(spec, "workers/template");
    const cJSON *containers = json_at(pod_template, "spec/containers");

    if (!cJSON_IsArray(containers) || !containers->child)
        strv_push(&job->problems,
                  "spec.workers.template.spec.containers: at least one container is required");
    else if (!json_str(containers->child, "name", NULL))
        strv_push(&job->problems, "spec.workers.template.spec.containers[0].name: is required");
    job->overrides_restart_policy = !str_eq(json_str(pod_template, "spec/restartPolicy", "Never"), "Never");
    job->template_json = pod_template ? json_print(pod_template) : mem_strdup("{}");
    job->revision = str_hash(job->template_json) | 1;
}

static char *longest_pod_name(const struct job *job)
{
    uint32_t pods = job_pods(&job->spec), instances = job->spec.instances;
    AUTO(mem) char *worker = name_worker_pod(job->name, pods ? pods - 1 : 0);
    AUTO(mem) char *launcher = name_launcher_pod(job->name, instances ? instances - 1 : 0);
    bool is_launcher = job->spec.has_launcher && strlen(launcher) > strlen(worker);

    return is_launcher ? TAKE(launcher) : TAKE(worker);
}

/* The longest name must fit a pod's host name. */
static void check_name(struct job *job)
{
    AUTO(mem) char *last = longest_pod_name(job);
    size_t length = strlen(last);

    if (length > POD_NAME_MAX)
        strv_pushf(&job->problems,
                   "metadata.name: pod \"%s\" would have %zu characters, at most %d are possible; use a name "
                   "of at most %zu",
                   last, length, POD_NAME_MAX, strlen(job->name) - (length - POD_NAME_MAX));
}

/* The workers' host names live under a Service named after the job, and Service names hold no dots. */
static void check_service_name(struct job *job)
{
    if (!job_meets_by_name(&job->spec))
        return;
    AUTO(mem) char *service = name_worker_service(job->name);
    if (strchr(job->name, '.') || strlen(service) > POD_NAME_MAX ||
        !(job->name[0] >= 'a' && job->name[0] <= 'z'))
        strv_push(
            &job->problems,
            "metadata.name: a job with several workers per instance needs a name of at most 55 characters "
            "that begins with a letter and has no dots, because its Service is named after it");
}

/* "3", 3 or "25%". */
static bool share_read(const cJSON *value, struct share *ret)
{
    AUTO(mem) char *text = mem_strdup(cJSON_IsString(value) ? value->valuestring : "");
    size_t len = strlen(text);

    *ret = (struct share){0};
    if (!cJSON_IsString(value))
        return job_count_read(value, &ret->amount) && ret->amount <= INSTANCES_MAX;
    if (len && text[len - 1] == '%') {
        ret->is_percent = true;
        text[len - 1] = '\0';
    }
    return parse_u32(text, 0, INSTANCES_MAX, &ret->amount);
}

static struct share share_field(struct job *job, const cJSON *spec, const char *field, uint32_t fallback)
{
    const cJSON *value = json_at(spec, field);
    struct share share = {.amount = fallback};

    if (value && !cJSON_IsNull(value) && !share_read(value, &share))
        job_problem(job, field, value, "must be a number such as 1 or a percentage such as 25%");
    return share;
}

static void read_strategy(struct job *job, const cJSON *spec)
{
    const cJSON *type = json_at(spec, "workers/strategy/type");
    const char *text = json_str(spec, "workers/strategy/type", type ? "" : "RollingUpdate");
    struct job_spec *to = &job->spec;

    if (str_eq(text, "Recreate"))
        to->strategy = STRATEGY_RECREATE;
    else if (!str_eq(text, "RollingUpdate"))
        job_problem(job, "workers/strategy/type", type, "must be RollingUpdate or Recreate");
    to->max_surge = share_field(job, spec, "workers/strategy/rollingUpdate/maxSurge", 0);
    to->max_unavailable = share_field(job, spec, "workers/strategy/rollingUpdate/maxUnavailable", 1);
    if (to->max_surge.amount == 0 && to->max_unavailable.amount == 0)
        strv_push(
            &job->problems,
            "spec.workers.strategy.rollingUpdate: maxSurge and maxUnavailable must not both be zero, or "
            "nothing could ever be replaced");
}

static void read_clocks(struct job *job, const cJSON *spec)
{
    job->spec.interactive_ttl_s = job_count_field(job, spec, "interactive/ttl", 1, INT32_MAX, 0);
    job->spec.active_deadline_s = job_count_field(job, spec, "activeDeadlineSeconds", 1, INT32_MAX, 0);
    job->spec.start_deadline_s = job_count_field(job, spec, "startDeadlineSeconds", 1, INT32_MAX, 0);
    job->spec.ttl_after_finished_s =
        job_count_field(job, spec, "ttlSecondsAfterFinished", 0, INT32_MAX, JOB_NO_TTL);
}

static void read_spec(struct job *job, const cJSON *spec)
{
    const char *clean = json_str(spec, "cleanPodPolicy", "None");

    job->spec.instances = job_count_field(job, spec, "jobInstances", 0, INSTANCES_MAX, 0);
    if (!json_at(spec, "jobInstances") || cJSON_IsNull(json_at(spec, "jobInstances")))
        strv_push(&job->problems, "spec.jobInstances: is required");
    read_ipus(job, spec);
    read_workers(job, spec);
    job->spec.replicas_per_worker = job_count_field(job, spec, "modelReplicasPerWorker", 1, IPUS_MAX, 0);
    check_shares(job);
    job_read_restart(job, spec);
    job->spec.clean = str_eq(clean, "All")       ? CLEAN_ALL
                      : str_eq(clean, "Workers") ? CLEAN_WORKERS
                                                 : CLEAN_NONE;
    job->spec.suspend = json_bool(spec, "suspend", false);
    job->spec.managed_by = mem_strdup(json_str(spec, "managedBy", NULL));
    read_clocks(job, spec);
    read_strategy(job, spec);
    read_partition(job, spec);
    read_template(job, spec);
    job_read_launcher(job, spec);
    check_name(job);
    check_service_name(job);
}

static void read_finalizers(struct job *job, const cJSON *metadata)
{
    JSON_EACH (item, json_at(metadata, "finalizers")) {
        if (cJSON_IsString(item))
            strv_push(&job->finalizers, item->valuestring);
    }
    job->has_finalizer = strv_has(&job->finalizers, API_FINALIZER);
}

struct job *job_parse(const cJSON *object)
{
    const cJSON *metadata = json_at(object, "metadata");
    const cJSON *status = json_at(object, "status");

    if (!json_str(metadata, "name", NULL) || !json_str(metadata, "uid", NULL))
        return NULL;

    struct job *job = NEW(struct job);

    job->ns = mem_strdup(json_str(metadata, "namespace", ""));
    job->name = mem_strdup(json_str(metadata, "name", ""));
    job->uid = mem_strdup(json_str(metadata, "uid", ""));
    job->resource_version = mem_strdup(json_str(metadata, "resourceVersion", ""));
    job->generation = json_i64(metadata, "generation", 0);
    timefmt_parse_rfc3339(json_str(metadata, "creationTimestamp", ""), &job->created_s);
    job->deleting = json_str(metadata, "deletionTimestamp", NULL) != NULL;
    job->key = mem_printf("%s/%s", job->ns, job->name);
    read_finalizers(job, metadata);
    job->release = mem_strdup(json_str(metadata, "annotations/graphcore.ai~1release", NULL));
    job->status_json = cJSON_IsObject(status) ? json_print(status) : mem_strdup("{}");
    read_spec(job, json_at(object, "spec"));
    return job;
}

void job_free(struct job *job)
{
    if (!job)
        return;
    mem_free(job->ns);
    mem_free(job->name);
    mem_free(job->uid);
    mem_free(job->resource_version);
    mem_free(job->release);
    mem_free(job->spec.exit_codes);
    mem_free(job->spec.managed_by);
    mem_free(job->spec.sync_type);
    mem_free(job->spec.routing);
    mem_free(job->spec.allocation);
    strv_release(&job->problems);
    strv_release(&job->finalizers);
    mem_free(job->key);
    mem_free(job->template_json);
    mem_free(job->launcher_json);
    mem_free(job->status_json);
    mem_free(job);
}
