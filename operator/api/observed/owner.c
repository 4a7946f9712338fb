#include "operator/api/observed/owner.h"

#include "base/core/str.h"
#include "operator/api/names.h"

const cJSON *owner_job(const cJSON *metadata)
{
    JSON_EACH (owner, json_at(metadata, "ownerReferences")) {
        if (json_bool(owner, "controller", false) && str_eq(json_str(owner, "kind", ""), API_KIND) &&
            str_has_prefix(json_str(owner, "apiVersion", ""), "graphcore.ai/") &&
            *json_str(owner, "name", "") && *json_str(owner, "uid", ""))
            return owner;
    }
    return NULL;
}
