#include "local/job/references.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "local/node/pod_env.h"
#include "operator/kube/auth/base64.h"

#define KEY_MAX_BYTES 253

/* ---- what pods refer to ---- */

struct check {
    const struct object *job;
    const struct objects *objects;
    struct strv *problems;
};

static void report(const struct check *check, const char *path, const char *what)
{
    AUTO(mem) char *problem = mem_printf("%s: %s", path, what);

    object_add_problem(check->job, problem, check->problems);
}

static bool has_key(const struct object *object, const char *key)
{
    static const char *const members[] = {"data", "stringData", "binaryData"};

    for (size_t i = 0; i < COUNT_OF(members); i++)
        if (cJSON_GetObjectItemCaseSensitive(json_at(object->doc, members[i]), key))
            return true;
    return false;
}

static void check_key(const struct check *check, const struct object *object, const char *key,
                      const char *path)
{
    if (!key || has_key(object, key))
        return;
    AUTO(mem)
    char *what = mem_printf("%s \"%s\" has no key \"%s\"", json_str(object->doc, "kind", ""),
                            json_str(object->doc, "metadata/name", ""), key);
    report(check, path, what);
}

static void check_object(const struct check *check, const char *kind, const cJSON *reference,
                         const char *name, const char *path)
{
    const char *ns = json_str(check->job->doc, "metadata/namespace", "");
    const struct object *object = name ? objects_find(check->objects, kind, ns, name) : NULL;
    int index = 0;

    if (!name || json_bool(reference, "optional", false))
        return;
    if (!object) {
        AUTO(mem)
        char *what =
            mem_printf("%s \"%s\" is in no file; add it to this one, or give its file by --with", kind, name);

        report(check, path, what);
        return;
    }
    check_key(check, object, json_str(reference, "key", NULL), path);
    JSON_EACH (item, json_at(reference, "items")) {
        AUTO(mem) char *place = mem_printf("%s.items[%d]", path, index++);

        check_key(check, object, json_str(item, "key", NULL), place);
    }
}

static void check_paths(const struct check *check, const cJSON *volume, const char *path)
{
    int index = 0;

    JSON_EACH (item, json_at(volume, "items")) {
        AUTO(mem) char *place = mem_printf("%s.items[%d].path", path, index++);

        if (!file_path_is_inside(json_str(item, "path", "")))
            report(check, place, "Invalid value: must be a relative path without \"..\"");
    }
}

static void check_field_path(const struct check *check, const cJSON *reference, const char *path)
{
    AUTO(mem) char *place = mem_printf("%s.fieldPath", path);
    AUTO(mem) char *value = pod_field(NULL, json_str(reference, "fieldPath", ""));

    if (!value)
        report(check, place, "Unsupported value: no field of a pod that a variable or a file can have");
}

static void visit(const struct check *check, const cJSON *node, const char *path)
{
    static const struct {
        const char *key, *kind, *name;
    } rows[] = {{"configMapKeyRef", "ConfigMap", "name"},
                {"secretKeyRef", "Secret", "name"},
                {"configMapRef", "ConfigMap", "name"},
                {"secretRef", "Secret", "name"},
                {"configMap", "ConfigMap", "name"},
                {"secret", "Secret", "secretName"},
                {"downwardAPI", NULL, NULL}};
    int index = 0;

    JSON_EACH (child, node) {
        AUTO(mem)
        char *below = cJSON_IsArray(node) ? mem_printf("%s[%d]", path, index++)
                                          : mem_printf("%s.%s", path, json_key(child));

        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            if (!str_eq(json_key(child), rows[i].key) || !cJSON_IsObject(child))
                continue;
            check_paths(check, child, below);
            if (rows[i].kind)
                check_object(check, rows[i].kind, child,
                             json_str(child, rows[i].name, json_str(child, "name", NULL)), below);
        }
        if (str_eq(json_key(child), "fieldRef") && cJSON_IsObject(child))
            check_field_path(check, child, below);
        visit(check, child, below);
    }
}

void references_check(const struct object *job, const struct objects *objects, struct strv *problems)
{
    const struct check check = {.job = job, .objects = objects, .problems = problems};

    visit(&check, json_at(job->doc, "spec/workers/template/spec"), "spec.workers.template.spec");
    visit(&check, json_at(job->doc, "spec/launcher"), "spec.launcher");
}

/* ---- what they contain ---- */

/* k8s.io/apimachinery, pkg/util/validation, IsConfigMapKey. */
static bool is_key(const char *key)
{
    size_t len = strlen(key);

    return len && len <= KEY_MAX_BYTES && !str_eq(key, ".") && !str_has_prefix(key, "..") &&
           strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == len;
}

static const char *value_mistake(const char *key, const cJSON *value, bool is_coded)
{
    AUTO(str) struct str bytes = {0};

    if (!is_key(key))
        return "Invalid value: a key has up to 253 letters, digits, \"-\", \"_\" and \".\", and does not "
               "begin "
               "with \"..\"";
    if (!cJSON_IsString(value))
        return "Invalid value: must be a string; put it in quotes";
    return is_coded && !base64_decode(slice_of(value->valuestring), &bytes) ? "Invalid value: must be base64"
                                                                            : NULL;
}

void references_check_values(const struct object *object, struct strv *problems)
{
    static const struct {
        const char *kind, *member;
        bool is_coded;
    } rows[] = {{"ConfigMap", "data", false},
                {"ConfigMap", "binaryData", true},
                {"Secret", "data", true},
                {"Secret", "stringData", false}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const cJSON *values = json_at(object->doc, rows[i].member);

        if (!object_is_kind(object, rows[i].kind) || !values || cJSON_IsNull(values))
            continue;
        if (!cJSON_IsObject(values)) {
            AUTO(mem) char *problem = mem_printf("%s: Invalid value: must be an object", rows[i].member);

            object_add_problem(object, problem, problems);
            continue;
        }
        JSON_EACH (value, values) {
            const char *mistake = value_mistake(json_key(value), value, rows[i].is_coded);
            AUTO(mem)
            char *problem = mem_printf("%s[%s]: %s", rows[i].member, json_key(value), mistake ? mistake : "");

            if (mistake)
                object_add_problem(object, problem, problems);
        }
    }
}
