#include "operator/api/observed/owned.h"

#include "base/core/mem.h"
#include "operator/api/pod/endpoints.h"
#include "operator/api/observed/owner.h"

struct owned *owned_parse(const cJSON *object)
{
    const cJSON *metadata = json_at(object, "metadata");
    const cJSON *owner = owner_job(metadata);
    struct owned *owned;

    if (!owner || !json_str(metadata, "name", NULL))
        return NULL;
    owned = NEW(struct owned);
    owned->ns = mem_strdup(json_str(metadata, "namespace", ""));
    owned->name = mem_strdup(json_str(metadata, "name", ""));
    owned->uid = mem_strdup(json_str(metadata, "uid", ""));
    owned->resource_version = mem_strdup(json_str(metadata, "resourceVersion", ""));
    owned->job_uid = mem_strdup(json_str(owner, "uid", ""));
    owned->job_key = mem_printf("%s/%s", owned->ns, json_str(owner, "name", ""));
    owned->has_selector = json_at(object, "spec/selector") != NULL;
    owned->content = endpoints_content_seen(object);
    return owned;
}

void owned_free(struct owned *owned)
{
    if (!owned)
        return;
    mem_free(owned->ns);
    mem_free(owned->name);
    mem_free(owned->uid);
    mem_free(owned->resource_version);
    mem_free(owned->job_uid);
    mem_free(owned->job_key);
    mem_free(owned);
}
