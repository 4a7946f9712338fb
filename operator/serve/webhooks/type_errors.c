#include "operator/serve/webhooks/type_errors.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/api/field.h"
#include "operator/api/job/template_types.h"

/* "cannot unmarshal number 1.5 into Go struct field
 * Probe.template.spec.containers.livenessProbe.periodSeconds of type int32" */
#define BEGIN "cannot unmarshal "
#define FIELD " into Go struct field "
#define TYPE " of type "

struct search {
    struct slice kind;  /* what the value is: "number" */
    const char *number; /* which one: "1.5", or "" */
    const char *what;   /* what it must be */
    bool is_inside;     /* not the field's own value, but one of those in it */
    cJSON *causes;
    size_t found; /* of which FIELD_PROBLEMS_MAX become causes */
};

static bool is_of_kind(const struct search *search, const cJSON *value)
{
    bool is_number = cJSON_IsNumber(value) || cJSON_IsRaw(value);
    const char *kind = is_number               ? "number"
                       : cJSON_IsString(value) ? "string"
                       : cJSON_IsBool(value)   ? "bool"
                       : cJSON_IsArray(value)  ? "array"
                       : cJSON_IsObject(value) ? "object"
                                               : "";

    if (strlen(kind) != search->kind.len || memcmp(kind, search->kind.ptr, search->kind.len) != 0)
        return false;
    if (!is_number || search->number[0] == '\0')
        return true;
    return strtod(search->number, NULL) ==
           (cJSON_IsRaw(value) ? strtod(value->valuestring, NULL) : value->valuedouble);
}

static void add_cause(struct search *search, const char *place, const cJSON *value)
{
    AUTO(strv) struct strv texts = {0};
    cJSON *cause;

    if (search->found++ >= FIELD_PROBLEMS_MAX)
        return;
    cause = json_push_take(search->causes, json_object());
    field_invalid(&texts, place, value, search->what);
    json_put_str(cause, "field", place);
    json_put_str(cause, "message", texts.items[0] + strlen(place) + strlen(": "));
}

/* True: there was something. */
static bool add_values(struct search *search, const char *place, const cJSON *value)
{
    bool found = !search->is_inside && is_of_kind(search, value);
    size_t n = 0;

    if (found)
        add_cause(search, place, value);
    if (!search->is_inside)
        return found;
    JSON_EACH (item, value) {
        AUTO(mem)
        char *inner =
            json_key(item) ? mem_printf("%s[%s]", place, json_key(item)) : mem_printf("%s[%zu]", place, n++);

        if (!is_of_kind(search, item))
            continue;
        add_cause(search, inner, item);
        found = true;
    }
    return found;
}

/* `path` has no places in lists: each entry is checked. */
static void walk(struct search *search, cJSON *node, const char *place, const char *path)
{
    size_t len = strcspn(path, "."), n = 0;

    if (cJSON_IsArray(node)) {
        for (cJSON *item = node->child; item; item = item->next) {
            AUTO(mem) char *inner = mem_printf("%s[%zu]", place, n++);

            walk(search, item, inner, path);
        }
        return;
    }
    AUTO(mem) char *key = mem_strndup(path, len);
    AUTO(mem) char *inner = mem_printf("%s%s%s", place, *place ? "." : "", key);
    cJSON *value = cJSON_IsObject(node) ? json_at_mut(node, key) : NULL;
    if (!value)
        return;
    if (path[len] == '.')
        walk(search, value, inner, path + len + 1);
    else if (add_values(search, inner, value))
        json_drop(node, key);
}

/* ---- quantities ---- */

/* The errors of k8s.io/apimachinery, pkg/api/resource/quantity.go. */
static bool is_about_quantities(const char *message)
{
    static const char *const errors[] = {"quantities must match the regular expression",
                                         "unable to parse numeric part of quantity",
                                         "unable to parse quantity's suffix"};

    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        if (strstr(message, errors[i]))
            return true;
    }
    return false;
}

/* How deep the fields of a pod lie with room to spare: what users nest below them has no end. */
#define DEPTH_MAX 32
/* Likewise how long their paths are: each value below gets one of its own. */
#define PLACE_MAX 1024

static bool is_key_of(const char *const *keys, size_t count, const char *key)
{
    for (size_t i = 0; key && i < count; i++) {
        if (str_eq(keys[i], key))
            return true;
    }
    return false;
}

static void drop_quantity(struct search *search, cJSON *object, cJSON *value, const char *place)
{
    if (quantity_is_valid(value))
        return;
    add_cause(search, place, value);
    json_drop_child(object, value);
}

static void drop_quantities(struct search *search, cJSON *node, const char *place, unsigned depth)
{
    static const char *const maps[] = {"limits", "requests", "overhead"};
    static const char *const fields[] = {"sizeLimit", "divisor"};
    bool is_map = is_key_of(maps, COUNT_OF(maps), json_key(node));
    size_t n = 0;

    if (depth >= DEPTH_MAX || strlen(place) > PLACE_MAX)
        return;
    for (cJSON *item = node->child, *next; item; item = next) {
        const char *key = json_key(item);
        AUTO(mem)
        char *inner = !key     ? mem_printf("%s[%zu]", place, n++)
                      : is_map ? mem_printf("%s[%s]", place, key)
                               : mem_printf("%s%s%s", place, *place ? "." : "", key);

        next = item->next;
        if (is_map || is_key_of(fields, COUNT_OF(fields), key))
            drop_quantity(search, node, item, inner);
        else
            drop_quantities(search, item, inner, depth + 1);
    }
}

/* The words of field.h for the types of Go. */
static char *what_of(const char *type)
{
    if (str_eq(type, "bool"))
        return mem_strdup("must be true or false");
    if (str_eq(type, "string"))
        return mem_strdup("must be a string");
    if (str_has_prefix(type, "int"))
        return mem_printf("must be a whole number (%s)", type);
    return mem_strdup(str_has_prefix(type, "[]") ? "must be a list" : "must be an object");
}

cJSON *type_errors_remove(cJSON *pods, const cJSON *status)
{
    const char *begin = strstr(json_str(status, "message", ""), BEGIN);
    const char *kind = begin ? begin + strlen(BEGIN) : "", *field = strstr(kind, FIELD);
    const char *path = field ? strchr(field + strlen(FIELD), '.') : NULL,
               *end = path ? strstr(path, TYPE) : NULL;

    AUTO(json) cJSON *found = json_object();
    cJSON *causes = json_put_array(json_put_object(found, "details"), "causes");

    if (is_about_quantities(json_str(status, "message", "")))
        drop_quantities(&(struct search){.what = QUANTITY_WANTED, .causes = causes}, pods, "", 0);
    if (!end)
        return causes->child ? TAKE(found) : NULL;
    AUTO(mem) char *where = mem_strndup(path + 1, (size_t)(end - path - 1));
    AUTO(mem) char *what = what_of(end + strlen(TYPE));
    AUTO(mem) char *value = mem_strndup(kind, (size_t)(field - kind)); /* "number 1.5" */
    size_t len = strcspn(value, " ");
    struct search search = {
        .kind = {value, len}, .number = value[len] ? value + len + 1 : "", .what = what, .causes = causes};

    walk(&search, pods, "", where);
    search.is_inside =
        !search.causes->child && !strchr(end, '['); /* of lists and maps: of such a type itself */
    if (search.is_inside)
        walk(&search, pods, "", where);
    return search.causes->child ? TAKE(found) : NULL;
}
