#include "operator/api/job/additions.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/suggest.h"
#include "operator/api/field.h"
#include "operator/api/job/job.h"

/* The domain of the operator's names, on its pods too. IPUs are no resource of a node: a pod that requests
 * one would stay pending forever. The device plugin for PCIe cards has a domain of its own. */
#define OWN_DOMAIN "graphcore.ai/"

/* The objects of a job, and their fields. Unknown fields in a pod template are reported by the dry run. */
static const struct {
    const char *path, *fields;
} OBJECTS[] = {
    {"", "apiVersion kind metadata spec status"},
    {"spec", "jobInstances ipusPerJobInstance workersPerJobInstance modelReplicasPerWorker partition workers "
             "launcher restartPolicy cleanPodPolicy interactive suspend managedBy ttlSecondsAfterFinished "
             "activeDeadlineSeconds startDeadlineSeconds"},
    {"spec/partition", "reconfigurable gcds syncType routing allocation"},
    {"spec/workers", "replicas strategy template"},
    {"spec/workers/strategy", "type rollingUpdate"},
    {"spec/workers/strategy/rollingUpdate", "maxSurge maxUnavailable"},
    {"spec/launcher", "command slotsPerWorker env template"},
    {"spec/restartPolicy", "type backOffLimit exitCodes"},
    {"spec/interactive", "ttl"},
};

static void report_unknown(const char *where, const char *key, const struct strv *fields,
                           struct strv *problems)
{
    struct suggest suggest = suggest_init(key);

    for (size_t i = 0; i < fields->count; i++)
        suggest_candidate(&suggest, fields->items[i]);
    if (suggest_best(&suggest)) {
        AUTO(mem) char *what = mem_printf("unknown field; did you mean %s?", suggest_best(&suggest));
        field_forbidden(problems, where, what);
    } else {
        field_forbidden(problems, where, "unknown field");
    }
}

void additions_check_fields(const cJSON *job, const char *path, const char *fields, struct strv *problems)
{
    const cJSON *object = *path ? json_at(job, path) : job;
    AUTO(strv) struct strv known = {0};

    strv_split(fields, ' ', &known);
    if (!cJSON_IsObject(object))
        return;
    JSON_EACH (member, object) {
        AUTO(mem) char *where = mem_printf("%s%s%s", path, *path ? "/" : "", json_key(member));

        if (problems->count >= FIELD_PROBLEMS_MAX)
            return;
        if (!strv_has(&known, json_key(member)))
            report_unknown(where, json_key(member), &known, problems);
    }
}

static void find_unknown_fields(const cJSON *job, struct strv *problems)
{
    for (size_t i = 0; i < COUNT_OF(OBJECTS); i++)
        additions_check_fields(job, OBJECTS[i].path, OBJECTS[i].fields, problems);
}

static void find_own_keys(const cJSON *object, const char *path, const char *why, struct strv *problems)
{
    JSON_EACH (member, object) {
        AUTO(mem) char *where = mem_printf("%s[%s]", path, json_key(member));

        if (json_key(member) && str_has_prefix(json_key(member), OWN_DOMAIN))
            field_forbidden(problems, where, why);
    }
}

static void find_own_resources(const cJSON *container, const char *path, struct strv *problems)
{
    static const char *const lists[] = {"resources/limits", "resources/requests"};

    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        AUTO(mem) char *where = mem_printf("%s/%s", path, lists[i]);

        find_own_keys(json_at(container, lists[i]), where,
                      "no node has this resource; remove it, spec.ipusPerJobInstance requests IPUs",
                      problems);
    }
}

/* The operator would take them on a pod for its own: that it has stopped the pod, for example. */
static void find_own_metadata(const cJSON *job, struct strv *problems)
{
    static const char *const maps[] = {
        "spec/workers/template/metadata/labels", "spec/workers/template/metadata/annotations",
        "spec/launcher/template/metadata/labels", "spec/launcher/template/metadata/annotations"};

    for (size_t i = 0; i < COUNT_OF(maps); i++)
        find_own_keys(json_at(job, maps[i]), maps[i],
                      "the prefix graphcore.ai/ is reserved for the operator; choose another name", problems);
}

static void find_resources(const cJSON *job, struct strv *problems)
{
    static const char *const lists[] = {
        "spec/workers/template/spec/containers", "spec/workers/template/spec/initContainers",
        "spec/launcher/template/spec/containers", "spec/launcher/template/spec/initContainers"};

    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        size_t n = 0;

        JSON_EACH (container, json_at(job, lists[i])) {
            AUTO(mem) char *path = mem_printf("%s[%zu]", lists[i], n++);

            find_own_resources(container, path, problems);
        }
    }
}

static void find_finalizers(const cJSON *job, struct strv *problems)
{
    size_t bytes = job_finalizer_bytes(job);
    AUTO(mem) char *what = NULL;

    if (bytes <= JOB_FINALIZERS_MAX)
        return;
    what = mem_printf("have %zu KiB, limit %zu KiB; remove those that are not needed", (bytes + 1023) / 1024,
                      JOB_FINALIZERS_MAX / 1024);
    field_forbidden(problems, "metadata/finalizers", what);
}

static void find_all(const cJSON *job, struct strv *problems)
{
    find_unknown_fields(job, problems);
    find_resources(job, problems);
    find_own_metadata(job, problems);
    find_finalizers(job, problems);
}

void additions_check(const cJSON *old, const cJSON *job, struct strv *problems)
{
    AUTO(strv) struct strv known = {0}, found = {0};

    if (old)
        find_all(old, &known);
    find_all(job, &found);
    for (size_t i = 0; i < found.count; i++) {
        if (!strv_has(&known, found.items[i]) && problems->count < FIELD_PROBLEMS_MAX)
            strv_push(problems, found.items[i]);
    }
}
