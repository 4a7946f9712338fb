#include "operator/api/service.h"

#include "base/core/mem.h"
#include "operator/api/owner.h"

struct service *service_parse(const cJSON *object)
{
    const cJSON *metadata = json_at(object, "metadata");
    const cJSON *owner = owner_job(metadata);
    struct service *service;

    if (!owner || !json_str(metadata, "name", NULL))
        return NULL;
    service = NEW(struct service);
    service->ns = mem_strdup(json_str(metadata, "namespace", ""));
    service->name = mem_strdup(json_str(metadata, "name", ""));
    service->resource_version = mem_strdup(json_str(metadata, "resourceVersion", ""));
    service->job_uid = mem_strdup(json_str(owner, "uid", ""));
    service->job_key = mem_printf("%s/%s", service->ns, json_str(owner, "name", ""));
    return service;
}

void service_free(struct service *service)
{
    if (!service)
        return;
    mem_free(service->ns);
    mem_free(service->name);
    mem_free(service->resource_version);
    mem_free(service->job_uid);
    mem_free(service->job_key);
    mem_free(service);
}
