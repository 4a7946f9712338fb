#include "operator/api/partition/record.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/text/timefmt.h"
#include "operator/api/job/job.h"
#include "operator/api/names.h"
#include "operator/api/observed/pod.h"

#define NAME_MAX_BYTES ((size_t)253)
#define COUNT_MAX (UINT32_MAX - 1) /* the one behind it is a number, too */

/* An invalid value is 0, like a missing one: memory is allocated by this number. */
static uint32_t number(const cJSON *data, const char *key, uint32_t max)
{
    uint32_t n = 0;

    parse_u32(json_str(data, key, ""), 0, max, &n);
    return n;
}

static bool flag(const cJSON *data, const char *key)
{
    return str_eq(json_str(data, key, ""), "true");
}

struct record *record_parse(const cJSON *configmap)
{
    const cJSON *metadata = json_at(configmap, "metadata");
    const cJSON *data = json_at(configmap, "data");
    int64_t priority;

    if (!json_str(data, "jobUid", NULL) || !json_str(data, "controller", NULL) ||
        !json_str(metadata, "name", NULL))
        return NULL;

    struct record *record = NEW(struct record);

    record->name = mem_strdup(json_str(metadata, "name", ""));
    record->uid = mem_strdup(json_str(metadata, "uid", ""));
    record->resource_version = mem_strdup(json_str(metadata, "resourceVersion", ""));
    timefmt_parse_rfc3339(json_str(metadata, "creationTimestamp", ""), &record->created_s);
    record->controller = mem_strdup(json_str(data, "controller", ""));
    record->place = mem_strdup(json_str(data, "place", NULL));
    record->job_ns = mem_strdup(json_str(data, "jobNamespace", ""));
    record->job_name = mem_strdup(json_str(data, "jobName", ""));
    record->job_uid = mem_strdup(json_str(data, "jobUid", ""));
    record->instance = number(data, "instance", JOB_INSTANCES_MAX);
    record->attempt = number(data, "attempt", COUNT_MAX);
    record->run = number(data, "run", COUNT_MAX);
    record->start = number(data, "start", COUNT_MAX);
    record->restarts = number(data, "restarts", COUNT_MAX);
    record->job_key = mem_printf("%s/%s", record->job_ns, record->job_name);
    record->workers = number(data, "workers", POD_SEATS_MAX - 1);
    record->size = number(data, "size", JOB_IPUS_MAX);
    record->gcds = number(data, "gcds", JOB_IPUS_MAX);
    record->replicas = number(data, "replicas", JOB_IPUS_MAX);
    record->limit_s = number(data, "limitSeconds", UINT32_MAX);
    record->grace_s = number(data, "graceSeconds", INT32_MAX);
    record->has_launcher = flag(data, "launcher");
    record->reconfigurable = flag(data, "reconfigurable");
    record->started = flag(data, "started");
    record->launched = flag(data, "launched");
    record->outcome_unknown = flag(data, "unsettled");
    record->releasing = flag(data, "releasing");
    record->reason = mem_strdup(json_str(data, "reason", NULL));
    parse_i64(json_str(data, "spentAt", "0"), 0, INT64_MAX, &record->spent_s);
    record->disruption = mem_strdup(json_str(data, "disruption", NULL));
    record->disrupted_pod = mem_strdup(json_str(data, "disruptedPod", NULL));
    parse_i64(json_str(data, "disruptedAt", "0"), 0, INT64_MAX, &record->disrupted_s);
    record->priority = parse_i64(json_str(data, "priority", ""), INT32_MIN, INT32_MAX, &priority)
                           ? (int32_t)priority
                           : INT32_MAX;
    record->preemptor = mem_strdup(json_str(data, "preemptor", NULL));
    record->preemptions = number(data, "preemptions", COUNT_MAX);
    return record;
}

void record_free(struct record *record)
{
    if (!record)
        return;
    mem_free(record->name);
    mem_free(record->uid);
    mem_free(record->resource_version);
    mem_free(record->controller);
    mem_free(record->place);
    mem_free(record->job_ns);
    mem_free(record->job_name);
    mem_free(record->job_uid);
    mem_free(record->job_key);
    mem_free(record->reason);
    mem_free(record->disruption);
    mem_free(record->disrupted_pod);
    mem_free(record->preemptor);
    mem_free(record);
}

bool record_view_item(void *ctx, const cJSON *item, void **ret)
{
    (void)ctx;
    return (*ret = record_parse(item)) != NULL;
}

void record_free_item(void *view)
{
    record_free(view);
}

struct record *record_copy(const struct record *from)
{
    struct record *copy = mem_dup(from, sizeof(*from));

    copy->name = mem_strdup(from->name);
    copy->uid = mem_strdup(from->uid);
    copy->resource_version = mem_strdup(from->resource_version);
    copy->controller = mem_strdup(from->controller);
    copy->place = mem_strdup(from->place);
    copy->job_ns = mem_strdup(from->job_ns);
    copy->job_name = mem_strdup(from->job_name);
    copy->job_key = mem_strdup(from->job_key);
    copy->job_uid = mem_strdup(from->job_uid);
    copy->reason = mem_strdup(from->reason);
    copy->disruption = mem_strdup(from->disruption);
    copy->disrupted_pod = mem_strdup(from->disrupted_pod);
    copy->preemptor = mem_strdup(from->preemptor);
    return copy;
}

static void put_changing(cJSON *data, const struct record *record)
{
    json_put_strf(data, "run", "%u", record->run);
    json_put_strf(data, "start", "%u", record->start);
    json_put_strf(data, "restarts", "%u", record->restarts);
    json_put_str(data, "started", record->started ? "true" : "false");
    json_put_str(data, "launched", record->launched ? "true" : "false");
    json_put_str(data, "unsettled", record->outcome_unknown ? "true" : "false");
    json_put_str(data, "releasing", record->releasing ? "true" : "false");
    json_put_str(data, "reason", record->reason);
    json_put_str(data, "preemptor", record->preemptor);
    json_put_strf(data, "preemptions", "%u", record->preemptions);
    if (record->spent_s)
        json_put_strf(data, "spentAt", "%lld", (long long)record->spent_s);
    if (record->disruption) {
        json_put_str(data, "disruption", record->disruption);
        json_put_str(data, "disruptedPod", record->disrupted_pod);
        json_put_strf(data, "disruptedAt", "%lld", (long long)record->disrupted_s);
    }
}

/* A merge patch keeps what it does not name. */
static void clear_disruption(cJSON *data)
{
    static const char *const keys[] = {"disruption", "disruptedPod", "disruptedAt"};

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        json_put_take(data, keys[i], cJSON_CreateNull());
}

cJSON *record_build(const struct record *record, const char *operator_ns)
{
    cJSON *configmap = json_object();
    cJSON *metadata, *labels, *data;

    json_put_str(configmap, "apiVersion", "v1");
    json_put_str(configmap, "kind", "ConfigMap");
    metadata = json_put_object(configmap, "metadata");
    json_put_str(metadata, "name", record->name);
    json_put_str(metadata, "namespace", operator_ns);
    labels = json_put_object(metadata, "labels");
    json_put_str(labels, LABEL_RECORD, "true");
    json_put_str(labels, LABEL_JOB_UID, record->job_uid);
    data = json_put_object(configmap, "data");
    json_put_str(data, "controller", record->controller);
    json_put_str(data, "place", record->place);
    json_put_str(data, "jobNamespace", record->job_ns);
    json_put_str(data, "jobName", record->job_name);
    json_put_str(data, "jobUid", record->job_uid);
    json_put_strf(data, "instance", "%u", record->instance);
    json_put_strf(data, "attempt", "%u", record->attempt);
    json_put_strf(data, "workers", "%u", record->workers);
    json_put_strf(data, "size", "%u", record->size);
    json_put_strf(data, "gcds", "%u", record->gcds);
    json_put_strf(data, "replicas", "%u", record->replicas);
    json_put_strf(data, "priority", "%d", record->priority);
    json_put_str(data, "launcher", record->has_launcher ? "true" : "false");
    json_put_str(data, "reconfigurable", record->reconfigurable ? "true" : "false");
    if (record->limit_s) {
        json_put_strf(data, "limitSeconds", "%u", record->limit_s);
        json_put_strf(data, "graceSeconds", "%u", record->grace_s);
    }
    put_changing(data, record);
    return configmap;
}

cJSON *record_patch(const struct record *record)
{
    cJSON *patch = json_object(), *metadata = json_put_object(patch, "metadata");
    cJSON *data;

    json_put_str(metadata, "uid", record->uid);
    json_put_str(metadata, "resourceVersion", record->resource_version);
    data = json_put_object(patch, "data");
    put_changing(data, record);
    if (!record->disruption)
        clear_disruption(data);
    return patch;
}

bool record_is_ownerless(const struct record *record)
{
    return str_eq(record->job_uid, RECORD_NO_JOB_UID);
}

bool record_holds_ipus(const struct record *record, bool is_listed)
{
    return !record->spent_s && !record_is_ownerless(record) && (!record->releasing || is_listed);
}

bool record_can_have_name(const char *id)
{
    size_t len = strlen(id);

    return len && len <= NAME_MAX_BYTES && id[strspn(id, NAME_LETTERS ".")] == '\0' && !strchr("-.", id[0]) &&
           !strchr("-.", id[len - 1]) && !strstr(id, "..") && !strstr(id, ".-") && !strstr(id, "-.");
}

uint32_t record_pod_count(const struct record *record)
{
    return record->workers + record->has_launcher;
}

bool record_has_started(const struct record *record, uint32_t pod_index)
{
    return pod_index < record->workers ? record->started : record->launched;
}
