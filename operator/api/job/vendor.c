#include "operator/api/job/vendor.h"

#include "base/core/mem.h"
#include "operator/api/names.h"

/* The resource definition itself gives every job a status with these defaults. */
static bool is_default(const cJSON *member)
{
    const char *key = json_key(member);

    if (str_eq(key, "launcherStatus"))
        return cJSON_IsString(member) &&
               (str_eq(member->valuestring, "") || str_eq(member->valuestring, "Pending"));
    return str_eq(key, "desiredReplicas") || str_eq(key, "lastMessage") || str_eq(key, "observedGeneration");
}

/* Every status that this operator writes has an observedGeneration; the vendor's definition does not have
 * the field, and the default is -1. */
static bool is_begun_by_another(const cJSON *status)
{
    bool begun = false;

    JSON_EACH (member, status) {
        if (str_eq(json_key(member), "observedGeneration") && member->valuedouble >= 0)
            return false;
        begun = begun || !is_default(member);
    }
    return begun;
}

static bool has_our_finalizer(const cJSON *job)
{
    JSON_EACH (item, json_at(job, "metadata/finalizers")) {
        if (cJSON_IsString(item) && str_eq(item->valuestring, API_FINALIZER))
            return true;
    }
    return false;
}

bool vendor_owns(const cJSON *job)
{
    if (str_eq(json_str(job, "metadata/annotations/graphcore.ai~1adopt", ""), "true"))
        return false;
    return !has_our_finalizer(job) && is_begun_by_another(json_at(job, "status"));
}
