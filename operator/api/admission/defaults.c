#include "operator/api/admission/defaults.h"

static void add(cJSON *patch, const char *path, cJSON *value)
{
    cJSON *step = json_push_take(patch, json_object());

    json_put_str(step, "op", "add"); /* replaces a member that exists */
    json_put_str(step, "path", path);
    json_put_take(step, "value", value);
}

static void write_count_as_text(cJSON *patch, const cJSON *spec, const char *field)
{
    const cJSON *value = json_at(spec, field);
    AUTO(mem) char *path = mem_printf("/spec/%s", field);

    if (!cJSON_IsNumber(value))
        return;
    AUTO(mem) char *text = json_print(value);
    add(patch, path, cJSON_CreateString(text));
}

static void fill_restart_policy(cJSON *patch, const cJSON *spec)
{
    const cJSON *policy = json_at(spec, "restartPolicy");

    if (!policy) {
        cJSON *whole = json_object();

        json_put_str(whole, "type", "Never");
        json_put_i64(whole, "backOffLimit", 3);
        add(patch, "/spec/restartPolicy", whole);
    } else if (cJSON_IsObject(policy) && !json_at(policy, "type")) {
        add(patch, "/spec/restartPolicy/type", cJSON_CreateString("Never"));
    }
}

cJSON *defaults_patch(const cJSON *job)
{
    static const char *const counts[] = {"ipusPerJobInstance", "workersPerJobInstance",
                                         "modelReplicasPerWorker"};
    const cJSON *spec = json_at(job, "spec");
    cJSON *patch = json_array();

    if (!cJSON_IsObject(spec))
        return patch;
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        write_count_as_text(patch, spec, counts[i]);
    fill_restart_policy(patch, spec);
    if (!json_at(spec, "cleanPodPolicy"))
        add(patch, "/spec/cleanPodPolicy", cJSON_CreateString("None"));
    return patch;
}
