#include "operator/vipucontroller/merge_patch.h"

static cJSON *member_patch(const cJSON *before, const cJSON *after)
{
    if (cJSON_IsObject(before) && cJSON_IsObject(after))
        return merge_patch(before, after);
    return before && json_equal(before, after) ? NULL : json_dup(after);
}

cJSON *merge_patch(const cJSON *before, const cJSON *after)
{
    cJSON *patch = json_object();

    JSON_EACH (member, after) {
        cJSON *changed = member_patch(cJSON_GetObjectItemCaseSensitive(before, json_key(member)), member);

        if (changed)
            json_put_take(patch, json_key(member), changed);
    }
    JSON_EACH (member, before) {
        if (!cJSON_GetObjectItemCaseSensitive(after, json_key(member)))
            json_put_take(patch, json_key(member), cJSON_CreateNull());
    }
    if (!patch->child) {
        cJSON_Delete(patch);
        return NULL;
    }
    return patch;
}
