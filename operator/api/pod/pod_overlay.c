#include "operator/api/pod/pod_overlay.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/map.h"
#include "base/core/mem.h"
#include "operator/api/names.h"
#include "operator/api/pod/pod_common.h"

#define OWN_SPEC "template/spec"

static const cJSON *first_container(const cJSON *spec)
{
    const cJSON *containers = json_at(spec, "containers");

    return cJSON_IsArray(containers) ? containers->child : NULL;
}

/* The key that identifies the entries of a list; NULL: the list is replaced as a whole. */
static const char *key_of_list(const cJSON *list)
{
    static const struct {
        const char *list, *key;
    } rows[] = {{"env", "name"}, {"volumes", "name"}, {"volumeMounts", "mountPath"}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (cJSON_IsArray(list) && str_eq(rows[i].list, json_key(list)))
            return rows[i].key;
    }
    return NULL;
}

/* ---- what the launcher takes over ---- */

/* The values of these keys, except for those that are replaced. */
static cJSON *inherit(const cJSON *from, const cJSON *own, const char *const *keys)
{
    cJSON *into = json_object();

    for (; *keys; keys++) {
        const cJSON *value = json_at(from, *keys), *instead = json_at(own, *keys);

        if (value && (!instead || key_of_list(instead)))
            json_put_take(into, *keys, json_dup(value));
    }
    return into;
}

static cJSON *inherit_spec(const cJSON *workers, const cJSON *own)
{
    static const char *const keys[] = {
        "automountServiceAccountToken",
        "dnsConfig",
        "dnsPolicy",
        "enableServiceLinks",
        "hostAliases",
        "hostIPC",
        "hostNetwork",
        "hostPID",
        "hostUsers",
        "imagePullSecrets",
        "nodeSelector",
        "os",
        "preemptionPolicy",
        "priorityClassName",
        "runtimeClassName",
        "schedulerName",
        "securityContext",
        "serviceAccountName",
        "terminationGracePeriodSeconds",
        "tolerations",
        "volumes",
        NULL,
    };

    return inherit(workers, own, keys);
}

static cJSON *inherit_container(const cJSON *worker, const cJSON *own)
{
    static const char *const keys[] = {
        "env",
        "envFrom",
        "image",
        "imagePullPolicy",
        "securityContext",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "volumeDevices",
        "volumeMounts",
        "workingDir",
        NULL,
    };
    cJSON *container = inherit(worker, own, keys);

    if (!json_at(own, "name"))
        json_put_str(container, "name", ROLE_LAUNCHER);
    return container;
}

/* ---- what spec.launcher says differently ---- */

static void overlay_list(cJSON *onto, const cJSON *from, const char *key)
{
    struct map by_key = {0}; /* users write these lists, possibly with thousands of entries */

    for (cJSON *item = onto->child; item; item = item->next) {
        if (json_str(item, key, NULL))
            map_set(&by_key, json_str(item, key, NULL), item);
    }
    JSON_EACH (item, from) {
        const char *name = json_str(item, key, NULL);
        cJSON *old = name ? map_get(&by_key, name) : NULL, *entry = json_dup(item);

        if (old)
            cJSON_ReplaceItemViaPointer(onto, old, entry);
        else
            json_push_take(onto, entry);
        if (name)
            map_set(&by_key, name, entry);
    }
    map_release(&by_key);
}

/* Applied to the result of inherit(). */
static void overlay(cJSON *onto, const cJSON *own)
{
    JSON_EACH (member, own) {
        const char *key = key_of_list(member);

        if (key)
            overlay_list(pod_common_array(onto, json_key(member)), member, key);
        else
            json_push_take(onto, json_dup(member)); /* has its name in it, so that it is unique */
    }
}

/* The first container is the launcher's; others are added to it. */
static void put_containers(cJSON *spec, const cJSON *worker, const cJSON *own)
{
    const cJSON *first = cJSON_IsObject(own) ? own : NULL;
    cJSON *containers = json_put_array(spec, "containers");
    cJSON *container = json_push_take(containers, inherit_container(worker, first));

    overlay(container, first);
    for (const cJSON *other = own ? own->next : NULL; other; other = other->next)
        json_push_take(containers, json_dup(other));
}

cJSON *pod_overlay_spec(const cJSON *workers, const cJSON *launcher)
{
    const cJSON *own = json_at(launcher, OWN_SPEC), *env = json_at(launcher, "env");
    AUTO(json) cJSON *rest = cJSON_IsObject(own) ? json_dup(own) : json_object();
    cJSON *spec = inherit_spec(workers, rest);

    put_containers(spec, first_container(workers), first_container(own));
    if (cJSON_IsArray(env))
        overlay_list(pod_common_array(json_at_mut(spec, "containers")->child, "env"), env, "name");
    json_drop(rest, "containers");
    overlay(spec, rest);
    return spec;
}

/* ---- the way back ---- */

/* Of a merged list: where an entry was given. */
static int index_of(const cJSON *own, const cJSON *entry)
{
    int n = 0;

    JSON_EACH (item, own) {
        if (json_equal(item, entry))
            return n;
        n++;
    }
    return -1;
}

enum pod_overlay_source pod_overlay_trace(const cJSON *made, const cJSON *launcher, const char *field,
                                          char **ret_field)
{
    static const char container[] = "containers[0].";
    const cJSON *own = json_at(launcher, OWN_SPEC);
    bool is_containers = str_has_prefix(field, container);
    const char *at = field + (is_containers ? strlen(container) : 0), *end = at + strcspn(at, ".[");
    AUTO(mem) char *name = mem_strndup(at, (size_t)(end - at));
    const cJSON *whole = json_at(is_containers ? first_container(made) : made, name);
    const cJSON *said = json_at(is_containers ? first_container(own) : own, name);

    *ret_field = mem_printf("template.spec.%s", field);
    if (*end == '[' && key_of_list(whole)) {
        char *rest;
        long index = strtol(end + 1, &rest, 10);
        const cJSON *entry = cJSON_GetArrayItem(whole, index >= 0 && index < INT_MAX ? (int)index : -1);
        int in_env = str_eq(name, "env") ? index_of(json_at(launcher, "env"), entry) : -1;
        int found = in_env < 0 ? index_of(said, entry) : in_env;

        if (found < 0)
            return POD_OVERLAY_INHERITED;
        mem_free(*ret_field);
        *ret_field = in_env < 0
                         ? mem_printf("template.spec.%.*s[%d%s", (int)(end - field), field, found, rest)
                         : mem_printf("env[%d%s", found, rest);
        return POD_OVERLAY_OWN;
    }
    if (said)
        return POD_OVERLAY_OWN;
    return whole ? POD_OVERLAY_INHERITED : POD_OVERLAY_MISSING;
}
