#include "operator/api/pod/endpoints.h"

#include <string.h>

#include "base/core/mem.h"
#include "operator/api/names.h"
#include "operator/api/pod/pod_common.h"

#define FAMILIES 2u

/* ---- which workers ---- */

static bool is_ipv6(uint32_t slice)
{
    return slice % FAMILIES == 1;
}

uint32_t endpoints_slices(uint32_t workers)
{
    return FAMILIES * ((workers + ENDPOINTS_PER_SLICE - 1) / ENDPOINTS_PER_SLICE);
}

static uint32_t first_of(uint32_t slice)
{
    return slice / FAMILIES * ENDPOINTS_PER_SLICE;
}

static uint32_t end_of(uint32_t slice, uint32_t count)
{
    uint32_t end = first_of(slice) + ENDPOINTS_PER_SLICE;

    return end < count ? end : count;
}

static bool belongs(const struct endpoint *worker, uint32_t slice)
{
    return worker->address && (strchr(worker->address, ':') != NULL) == is_ipv6(slice);
}

/* ---- what is in it ---- */

static uint64_t content_add(uint64_t content, const char *host, const char *address)
{
    return (content * 31 + str_hash(host)) * 31 + str_hash(address);
}

static uint64_t content_end(uint64_t content, uint32_t count)
{
    return count ? content | 1 : 0;
}

uint64_t endpoints_content(const struct endpoint *workers, uint32_t count, uint32_t slice)
{
    uint64_t content = 0;
    uint32_t found = 0;

    for (uint32_t w = first_of(slice); w < end_of(slice, count); w++) {
        if (!belongs(&workers[w], slice))
            continue;
        content = content_add(content, workers[w].host, workers[w].address);
        found++;
    }
    return content_end(content, found);
}

uint64_t endpoints_content_seen(const cJSON *slice)
{
    uint64_t content = 0;
    uint32_t found = 0;

    JSON_EACH (endpoint, json_at(slice, "endpoints")) {
        const cJSON *addresses = json_at(endpoint, "addresses");
        const char *address = cJSON_GetStringValue(addresses ? addresses->child : NULL);

        content = content_add(content, json_str(endpoint, "hostname", ""), address ? address : "");
        found++;
    }
    return content_end(content, found);
}

/* ---- the object ---- */

char *endpoints_slice_name(const struct job *job, uint32_t instance, uint32_t slice)
{
    AUTO(mem) char *service = name_worker_service(job->name, job->uid);
    const char *family = is_ipv6(slice) ? "ipv6" : "ipv4";

    if (slice < FAMILIES)
        return mem_printf("%s-%u-%s", service, instance, family);
    return mem_printf("%s-%u-%s-%u", service, instance, family, slice / FAMILIES);
}

/* They are published before they are ready. */
static void put_endpoint(cJSON *list, const struct endpoint *worker)
{
    cJSON *endpoint = json_push_take(list, json_object());

    json_push_str(json_put_array(endpoint, "addresses"), worker->address);
    json_put_str(endpoint, "hostname", worker->host);
    json_put_bool(json_put_object(endpoint, "conditions"), "ready", true);
}

static void put_labels(cJSON *metadata, const struct job *job, uint32_t instance)
{
    AUTO(mem) char *service = name_worker_service(job->name, job->uid);
    cJSON *labels = json_put_object(metadata, "labels");

    pod_common_put_labels(labels, job, ROLE_WORKER);
    json_put_strf(labels, LABEL_INSTANCE, "%u", instance);
    json_put_str(labels, LABEL_SLICE_SERVICE, service);
    json_put_str(labels, LABEL_SLICE_WRITER, API_FIELD_MANAGER);
    json_put_str(labels, "service.kubernetes.io/headless", ""); /* nodes need no rules for it */
}

cJSON *endpoints_slice(const struct job *job, uint32_t instance, uint32_t slice,
                       const struct endpoint *workers)
{
    AUTO(mem) char *name = endpoints_slice_name(job, instance, slice);
    cJSON *object = json_object(), *metadata, *list;

    json_put_str(object, "apiVersion", "discovery.k8s.io/v1");
    json_put_str(object, "kind", "EndpointSlice");
    metadata = json_put_object(object, "metadata");
    json_put_str(metadata, "name", name);
    json_put_str(metadata, "namespace", job->ns);
    put_labels(metadata, job, instance);
    pod_common_put_owner(metadata, job);
    json_put_str(object, "addressType", is_ipv6(slice) ? "IPv6" : "IPv4");
    list = json_put_array(object, "endpoints");
    for (uint32_t w = first_of(slice); w < end_of(slice, job->spec.workers_per_instance); w++) {
        if (belongs(&workers[w], slice))
            put_endpoint(list, &workers[w]);
    }
    return object;
}
