#include "operator/api/job/jobspec.h"

#include <ctype.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/api/job/exit_codes.h"
#include "operator/api/field.h"

#define WORKERS_MAX 4096
#define SHARE_MAX 99999
#define MANAGER_MAX 63
#define ALLOCATION_MAX 253

static bool is_power_of_two(uint32_t n)
{
    return n && (n & (n - 1)) == 0;
}

static void read_instances(const cJSON *job, struct job_spec *to, struct strv *problems)
{
    if (!field_at(job, "spec/jobInstances"))
        field_required(problems, "spec/jobInstances");
    to->instances = field_count(job, "spec/jobInstances", 0, JOB_INSTANCES_MAX, 0, problems);
}

static void read_ipus(const cJSON *job, struct job_spec *to, struct strv *problems)
{
    const cJSON *value = field_at(job, "spec/ipusPerJobInstance");
    uint32_t ipus = 0;

    if (!value)
        field_required(problems, "spec/ipusPerJobInstance");
    else if (!field_count_read(value, &ipus) || ipus == 0 || ipus > JOB_IPUS_MAX ||
             (ipus <= JOB_IPUS_PER_DOMAIN ? !is_power_of_two(ipus) : ipus % JOB_IPUS_PER_DOMAIN != 0))
        field_invalid(problems, "spec/ipusPerJobInstance", value,
                      "must be a power of two up to 64, or a multiple of 64 up to 65536");
    else
        to->ipus_per_instance = ipus;
}

/* workersPerJobInstance; if absent workers.replicas, whose default 1 counts as absent. */
static void read_workers(const cJSON *job, struct job_spec *to, struct strv *problems)
{
    uint32_t per_instance =
        field_count_or_text(job, "spec/workersPerJobInstance", 1, WORKERS_MAX, 0, problems);
    uint32_t replicas = field_count(job, "spec/workers/replicas", 1, WORKERS_MAX, 1, problems);

    if (per_instance && replicas != 1 && replicas != per_instance) {
        AUTO(mem)
        char *what = mem_printf("must equal spec.workersPerJobInstance (%u) when both are set", per_instance);
        field_invalid(problems, "spec/workers/replicas", json_at(job, "spec/workers/replicas"), what);
    }
    to->workers_per_instance = per_instance ? per_instance : replicas;
}

static void check_pods(const cJSON *job, const struct job_spec *spec, struct strv *problems)
{
    uint64_t pods = (uint64_t)spec->instances * spec->workers_per_instance;

    if (pods > JOB_PODS_MAX) {
        AUTO(mem)
        char *what = mem_printf(
            "must be at most %u with %u worker pods per instance: a job has at most %u worker pods",
            JOB_PODS_MAX / spec->workers_per_instance, spec->workers_per_instance, JOB_PODS_MAX);
        field_invalid(problems, "spec/jobInstances", json_at(job, "spec/jobInstances"), what);
    }
}

static void check_shares(const cJSON *job, const struct job_spec *spec, struct strv *problems)
{
    uint32_t replicas = job_worker_replicas(spec);
    uint64_t shares = (uint64_t)spec->workers_per_instance * replicas;

    if (spec->ipus_per_instance && spec->ipus_per_instance % shares != 0) {
        AUTO(mem)
        char *what = mem_printf("must be divisible by workers x model replicas per worker (%u x %u)",
                                spec->workers_per_instance, replicas);
        field_invalid(problems, "spec/ipusPerJobInstance", json_at(job, "spec/ipusPerJobInstance"), what);
    }
    if (!is_power_of_two(spec->workers_per_instance)) {
        bool is_new = field_at(job, "spec/workersPerJobInstance") != NULL;
        const char *path = is_new ? "spec/workersPerJobInstance" : "spec/workers/replicas";

        field_invalid(problems, path, json_at(job, path), "must be a power of two: each worker uses one GCD");
    }
}

static void read_restart(const cJSON *job, struct job_spec *to, struct strv *problems)
{
    static const char *const types[] = {"Always", "OnFailure", "Never", "ExitCode"};
    static const enum restart_type meant[] = {RESTART_ALWAYS, RESTART_ON_FAILURE, RESTART_NEVER,
                                              RESTART_EXIT_CODE};
    const char *codes = field_text(job, "spec/restartPolicy/exitCodes", problems);

    to->restart = meant[field_choice(job, "spec/restartPolicy/type", types, COUNT_OF(types), 2, problems)];
    to->backoff_limit = field_count(job, "spec/restartPolicy/backOffLimit", 0, INT32_MAX, 3, problems);
    to->exit_codes = mem_strdup(codes);
    if (codes && !exit_codes_are_valid(codes))
        field_invalid(problems, "spec/restartPolicy/exitCodes", json_at(job, "spec/restartPolicy/exitCodes"),
                      "must be a list of exit codes (0 to 255) and ranges, such as 1-5,137");
    if (to->restart == RESTART_EXIT_CODE && !field_at(job, "spec/restartPolicy/exitCodes"))
        field_required(problems, "spec/restartPolicy/exitCodes");
}

static void read_partition(const cJSON *job, struct job_spec *to, struct strv *problems)
{
    static const char *const syncs[] = {"c2-compatible", "pod-native-default",
                                        "pod-native-replicated-pipeline"};
    static const char *const routings[] = {"dnc", "swnc", "btnc", "ringswnc"};
    const char *allocation = field_text(job, "spec/partition/allocation", problems);

    to->reconfigurable = field_bool(job, "spec/partition/reconfigurable", -1, problems);
    to->gcds = field_count(job, "spec/partition/gcds", 1, WORKERS_MAX, 0, problems);
    to->sync_type = mem_strdup(json_str(job, "spec/partition/syncType", NULL));
    to->routing = mem_strdup(json_str(job, "spec/partition/routing", NULL));
    to->allocation = mem_strdup(allocation);
    field_choice(job, "spec/partition/syncType", syncs, COUNT_OF(syncs), 0, problems);
    field_choice(job, "spec/partition/routing", routings, COUNT_OF(routings), 0, problems);
    if (allocation && (!*allocation || strlen(allocation) > ALLOCATION_MAX))
        field_invalid(problems, "spec/partition/allocation", json_at(job, "spec/partition/allocation"),
                      "must have 1 to 253 characters");
}

static void check_partition(const cJSON *job, const struct job_spec *spec, struct strv *problems)
{
    const cJSON *gcds = json_at(job, "spec/partition/gcds");
    const cJSON *reconfigurable = json_at(job, "spec/partition/reconfigurable");

    if (spec->gcds && spec->ipus_per_instance % spec->gcds != 0)
        field_invalid(problems, "spec/partition/gcds", gcds, "must divide spec.ipusPerJobInstance");
    if (spec->gcds && spec->gcds < spec->workers_per_instance && spec->reconfigurable != 1)
        field_invalid(problems, "spec/partition/gcds", gcds, "must be at least the number of workers");
    if (spec->reconfigurable != 1)
        return;
    if (spec->gcds > 1 || spec->ipus_per_instance > JOB_IPUS_PER_DOMAIN)
        field_invalid(problems, "spec/partition/reconfigurable", reconfigurable,
                      "reconfigurable partitions require 1 GCD and at most 64 IPUs");
    if (spec->sync_type && !str_eq(spec->sync_type, "c2-compatible"))
        field_invalid(problems, "spec/partition/syncType", json_at(job, "spec/partition/syncType"),
                      "reconfigurable partitions require c2-compatible; remove it");
}

/* "3", 3 or "25%". */
static bool share_read(const cJSON *value, struct int_or_percent *ret)
{
    AUTO(mem) char *text = mem_strdup(cJSON_IsString(value) ? value->valuestring : "");
    size_t len = strlen(text);

    *ret = (struct int_or_percent){0};
    if (!cJSON_IsString(value))
        return field_count_read(value, &ret->amount) && ret->amount <= SHARE_MAX;
    if (len && text[len - 1] == '%') {
        ret->is_percent = true;
        text[len - 1] = '\0';
    }
    return parse_u32(text, 0, SHARE_MAX, &ret->amount);
}

static struct int_or_percent share_field(const cJSON *job, const char *path, uint32_t fallback,
                                         struct strv *problems)
{
    const cJSON *value = field_at(job, path);
    struct int_or_percent share = {.amount = fallback};

    if (value && !share_read(value, &share))
        field_invalid(problems, path, value, "must be a number such as 1 or a percentage such as 25%");
    return share;
}

static void read_strategy(const cJSON *job, struct job_spec *to, struct strv *problems)
{
    static const char *const types[] = {"RollingUpdate", "Recreate"}; /* in the order of enum strategy */
    const char *const unavailable = "spec/workers/strategy/rollingUpdate/maxUnavailable";

    to->strategy = (enum strategy)field_choice(job, "spec/workers/strategy/type", types, COUNT_OF(types),
                                               STRATEGY_ROLLING_UPDATE, problems);
    to->max_surge = share_field(job, "spec/workers/strategy/rollingUpdate/maxSurge", 0, problems);
    to->max_unavailable = share_field(job, unavailable, 1, problems);
    if (to->max_surge.amount == 0 && to->max_unavailable.amount == 0)
        field_invalid(problems, unavailable, json_at(job, unavailable), "must not be 0 when maxSurge is 0");
}

static bool is_within(const char *text, const char *extra)
{
    for (; *text; text++) {
        if (!islower((unsigned char)*text) && !isdigit((unsigned char)*text) && !strchr(extra, *text))
            return false;
    }
    return true;
}

/* "domain/name", as the API server requires of label keys. */
static bool is_manager(const char *text)
{
    const char *slash = strchr(text, '/');
    size_t domain = slash ? (size_t)(slash - text) : 0, name = slash ? strlen(slash + 1) : 0;

    if (!domain || !name || strlen(text) > MANAGER_MAX)
        return false;

    AUTO(mem) char *host = mem_printf("%.*s", (int)domain, text);

    for (size_t i = 1; i <= name; i++) {
        bool is_end = i == 1 || i == name;

        if (!isalnum((unsigned char)slash[i]) && (is_end || !strchr("-_.", slash[i])))
            return false;
    }
    return is_within(host, "-.") && isalnum((unsigned char)host[0]) &&
           isalnum((unsigned char)host[domain - 1]);
}

static void read_life(const cJSON *job, struct job_spec *to, struct strv *problems)
{
    static const char *const policies[] = {"None", "Workers", "All"}; /* in the order of enum clean_policy */
    const char *manager = field_text(job, "spec/managedBy", problems);

    to->clean = (enum clean_policy)field_choice(job, "spec/cleanPodPolicy", policies, COUNT_OF(policies),
                                                CLEAN_NONE, problems);
    to->suspend = field_bool(job, "spec/suspend", false, problems);
    to->managed_by = mem_strdup(manager);
    if (manager && !is_manager(manager))
        field_invalid(
            problems, "spec/managedBy", json_at(job, "spec/managedBy"),
            "must be a domain-prefixed path, such as example.com/controller, of at most 63 characters");
    if (field_at(job, "spec/interactive") && !field_at(job, "spec/interactive/ttl"))
        field_required(problems, "spec/interactive/ttl");
    to->interactive_ttl_s = field_seconds(job, "spec/interactive/ttl", 1, 0, problems);
    to->active_deadline_s = field_seconds(job, "spec/activeDeadlineSeconds", 1, 0, problems);
    to->start_deadline_s = field_seconds(job, "spec/startDeadlineSeconds", 1, 0, problems);
    to->ttl_after_finished_s = field_seconds(job, "spec/ttlSecondsAfterFinished", 0, JOB_NO_TTL, problems);
}

void jobspec_read(const cJSON *job, struct job_spec *ret, struct strv *problems)
{
    *ret = (struct job_spec){0};
    read_instances(job, ret, problems);
    read_ipus(job, ret, problems);
    read_workers(job, ret, problems);
    ret->replicas_per_worker =
        field_count_or_text(job, "spec/modelReplicasPerWorker", 1, JOB_IPUS_MAX, 0, problems);
    ret->has_launcher = field_at(job, "spec/launcher") != NULL;
    ret->slots_per_worker = field_count(job, "spec/launcher/slotsPerWorker", 1, JOB_SLOTS_MAX, 0, problems);
    check_pods(job, ret, problems);
    check_shares(job, ret, problems);
    read_restart(job, ret, problems);
    read_life(job, ret, problems);
    read_strategy(job, ret, problems);
    read_partition(job, ret, problems);
    check_partition(job, ret, problems);
}

void jobspec_release(struct job_spec *spec)
{
    mem_free(spec->exit_codes);
    mem_free(spec->managed_by);
    mem_free(spec->sync_type);
    mem_free(spec->routing);
    mem_free(spec->allocation);
    *spec = (struct job_spec){0};
}
