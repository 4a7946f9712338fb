#include "local/node/pod_env.h"

#include <string.h>

#include "base/core/mem.h"
#include "operator/kube/auth/base64.h"

/* ---- variables ---- */

static char **slot_of(const struct strv *env, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < env->count; i++)
        if (strncmp(env->items[i], name, len) == 0 && env->items[i][len] == '=')
            return &env->items[i];
    return NULL;
}

const char *pod_env_find(const struct strv *env, const char *name)
{
    char **slot = slot_of(env, name);

    return slot ? *slot + strlen(name) + 1 : NULL;
}

void pod_env_set(struct strv *env, const char *name, const char *value)
{
    char **slot = slot_of(env, name);
    AUTO(mem) char *text = mem_printf("%s=%s", name, value);

    if (slot)
        mem_set_str(slot, text);
    else
        strv_push(env, text);
}

/* k8s.io/kubernetes, third_party/forked/golang/expansion/expand.go. */
char *pod_env_expand(const struct strv *env, const char *text)
{
    struct str out = {0};

    for (const char *at = text; *at; at++) {
        const char *end = at[0] == '$' && at[1] == '(' ? strchr(at, ')') : NULL;

        if (at[0] == '$' && at[1] == '$') {
            str_addc(&out, *at++);
        } else if (end) {
            AUTO(mem) char *name = mem_strndup(at + 2, (size_t)(end - at) - 2);
            const char *value = pod_env_find(env, name);

            if (value)
                str_adds(&out, value);
            else
                str_add(&out, at, (size_t)(end - at) + 1);
            at = end;
        } else {
            str_addc(&out, *at);
        }
    }
    return str_take(&out);
}

void pod_env_add_words(const struct strv *env, const cJSON *list, struct strv *words)
{
    JSON_EACH (word, list)
        strv_push_take(words,
                       pod_env_expand(env, cJSON_GetStringValue(word) ? cJSON_GetStringValue(word) : ""));
}

/* ---- where values come from ---- */

bool pod_source_value(const cJSON *object, const char *key, struct str *ret)
{
    bool is_secret = str_eq(json_str(object, "kind", ""), "Secret");
    const cJSON *plain =
        cJSON_GetObjectItemCaseSensitive(json_at(object, is_secret ? "stringData" : "data"), key);
    const cJSON *coded =
        cJSON_GetObjectItemCaseSensitive(json_at(object, is_secret ? "data" : "binaryData"), key);

    if (cJSON_IsString(plain))
        return str_adds(ret, plain->valuestring);
    return cJSON_IsString(coded) && base64_decode(slice_of(coded->valuestring), ret);
}

const cJSON *pod_source_find(const struct pod_source *source, const char *plural, const cJSON *pod,
                             const cJSON *reference, const char *name, struct err *err)
{
    const cJSON *found = source->find(source->ctx, plural, json_str(pod, "metadata/namespace", ""), name);

    if (!found && !json_bool(reference, "optional", false))
        err_set(err, ERR_NOT_FOUND, "%s \"%s\" not found", str_eq(plural, "secrets") ? "secret" : "configmap",
                name);
    return found;
}

static char *map_entry(const cJSON *pod, const char *path, const char *field)
{
    const char *open = strchr(path, '['), *close = open ? strrchr(open, ']') : NULL;

    if (!close || close - open < 4 || !str_has_prefix(path, field) || open != path + strlen(field))
        return NULL;
    AUTO(mem) char *key = mem_strndup(open + 2, (size_t)(close - open) - 3);
    AUTO(mem) char *parent = mem_printf("metadata/%s", field + strlen("metadata."));
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json_at(pod, parent), key));

    return mem_strdup(value ? value : "");
}

char *pod_field(const cJSON *pod, const char *path)
{
    static const struct {
        const char *path, *at;
    } rows[] = {
        {"metadata.name", "metadata/name"},
        {"metadata.namespace", "metadata/namespace"},
        {"metadata.uid", "metadata/uid"},
        {"spec.nodeName", "spec/nodeName"},
        {"spec.serviceAccountName", "spec/serviceAccountName"},
        {"status.hostIP", "status/hostIP"},
        {"status.podIP", "status/podIP"},
        {"status.podIPs", "status/podIP"},
        {"status.hostIPs", "status/hostIP"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_eq(rows[i].path, path))
            return mem_strdup(json_str(pod, rows[i].at, ""));
    char *label = map_entry(pod, path, "metadata.labels");

    return label ? label : map_entry(pod, path, "metadata.annotations");
}

static bool set_from_key(const cJSON *pod, const char *name, const char *plural, const cJSON *reference,
                         const struct pod_source *source, struct strv *env, struct err *err)
{
    const char *object_name = json_str(reference, "name", ""), *key = json_str(reference, "key", "");
    const cJSON *object = pod_source_find(source, plural, pod, reference, object_name, err);
    AUTO(str) struct str value = {0};

    if (!object)
        return json_bool(reference, "optional", false);
    if (pod_source_value(object, key, &value))
        pod_env_set(env, name, str_text(&value));
    else if (!json_bool(reference, "optional", false))
        return err_set(err, ERR_NOT_FOUND, "couldn't find key %s in %s %s/%s", key,
                       str_eq(plural, "secrets") ? "Secret" : "ConfigMap",
                       json_str(pod, "metadata/namespace", ""), object_name);
    return true;
}

static bool set_variable(const cJSON *pod, const cJSON *variable, const struct pod_source *source,
                         struct strv *env, struct err *err)
{
    const char *name = json_str(variable, "name", "");
    const cJSON *from = json_at(variable, "valueFrom");

    if (json_at(from, "configMapKeyRef"))
        return set_from_key(pod, name, "configmaps", json_at(from, "configMapKeyRef"), source, env, err);
    if (json_at(from, "secretKeyRef"))
        return set_from_key(pod, name, "secrets", json_at(from, "secretKeyRef"), source, env, err);

    const char *path = json_str(from, "fieldRef/fieldPath", NULL);
    AUTO(mem)
    char *value = path ? pod_field(pod, path) : pod_env_expand(env, json_str(variable, "value", ""));

    if (!value)
        return err_set(err, ERR_INVALID, "cannot tell %s of a pod", path);
    pod_env_set(env, name, value);
    return true;
}

static bool set_all_of(const cJSON *pod, const cJSON *entry, const char *field, const char *plural,
                       const struct pod_source *source, struct strv *env, struct err *err)
{
    static const char *const members[] = {"data", "stringData"};
    const cJSON *reference = json_at(entry, field);
    const cJSON *object =
        reference ? pod_source_find(source, plural, pod, reference, json_str(reference, "name", ""), err)
                  : NULL;

    if (!object)
        return !reference || json_bool(reference, "optional", false);
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        JSON_EACH (member, json_at(object, members[i])) {
            AUTO(mem) char *name = mem_printf("%s%s", json_str(entry, "prefix", ""), json_key(member));
            AUTO(str) struct str value = {0};

            if (pod_source_value(object, json_key(member), &value))
                pod_env_set(env, name, str_text(&value));
        }
    }
    return true;
}

bool pod_env_make(const cJSON *pod, const cJSON *container, const struct pod_source *source, struct strv *env,
                  struct err *err)
{
    JSON_EACH (entry, json_at(container, "envFrom")) {
        if (!set_all_of(pod, entry, "configMapRef", "configmaps", source, env, err) ||
            !set_all_of(pod, entry, "secretRef", "secrets", source, env, err))
            return false;
    }
    JSON_EACH (variable, json_at(container, "env")) {
        if (!set_variable(pod, variable, source, env, err))
            return false;
    }
    return true;
}
