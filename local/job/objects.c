#include "local/job/objects.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "operator/api/field.h"
#include "operator/api/names.h"

#define FILE_MAX_BYTES ((size_t)4 * 1024 * 1024)
#define OBJECTS_MAX 1000
#define INDEX_MAX_DIGITS 6

static bool read_input(struct str *ret, struct err *err)
{
    char block[16384];
    ssize_t got;

    while ((got = read(STDIN_FILENO, block, sizeof(block))) > 0)
        if (ret->len + (size_t)got > FILE_MAX_BYTES)
            return err_set(err, ERR_INVALID, "standard input: larger than the limit of %zu bytes",
                           FILE_MAX_BYTES);
        else
            str_add(ret, block, (size_t)got);
    return got == 0 || err_set(err, ERR_IO, "cannot read standard input");
}

static void add_object(struct objects *objects, const struct object_file *file, const cJSON *doc)
{
    struct object *object;
    cJSON *metadata;

    objects->items = mem_grow(objects->items, objects->count + 1, sizeof(*objects->items));
    object = &objects->items[objects->count++];
    *object = (struct object){.file = file, .original = doc, .doc = json_dup(doc)};
    metadata = json_at_mut(object->doc, "metadata");
    if (cJSON_IsObject(metadata) && !json_at(metadata, "namespace") &&
        !object_is_kind(object, "PriorityClass"))
        json_put_str(metadata, "namespace", "default");
}

static void add_unused(struct objects *objects, const struct object_file *file, const cJSON *doc)
{
    objects->unused = mem_grow(objects->unused, objects->unused_count + 1, sizeof(*objects->unused));
    objects->unused[objects->unused_count++] = (struct object){.file = file, .original = doc};
}

static void reject_object(const struct object_file *file, const cJSON *doc, const char *what,
                          struct strv *problems)
{
    strv_pushf(problems, "%s: line %u: %s", file->name, yaml_line(&file->doc, doc), what);
}

static void add_objects(struct objects *objects, const struct object_file *file, bool may_have_jobs,
                        struct strv *problems)
{
    static const char *const kinds[] = {API_KIND, "ConfigMap", "Secret", "PriorityClass"};

    JSON_EACH (doc, file->doc.root) {
        const char *kind = json_str(doc, "kind", NULL);
        bool is_known = false;

        if (cJSON_IsNull(doc))
            continue;
        for (size_t i = 0; i < COUNT_OF(kinds); i++)
            is_known = is_known || str_eq(kinds[i], kind);
        if (!kind)
            reject_object(file, doc, "not a Kubernetes object: apiVersion and kind are required", problems);
        else if (str_eq(kind, API_KIND) && !str_eq(json_str(doc, "apiVersion", ""), API_GROUP_VERSION))
            reject_object(file, json_at(doc, "apiVersion") ? json_at(doc, "apiVersion") : doc,
                          "apiVersion must be " API_GROUP_VERSION, problems);
        else if (!field_at(doc, "metadata/name") && !field_at(doc, "metadata/generateName"))
            reject_object(file, doc, "metadata.name: Required value", problems);
        else if (str_eq(kind, API_KIND) && !may_have_jobs)
            reject_object(file, doc, "--with adds no jobs; name this file without --with to run its own",
                          problems);
        else if (is_known && objects->count < OBJECTS_MAX)
            add_object(objects, file, doc);
        else if (is_known)
            reject_object(file, doc, "too many objects", problems);
        else
            add_unused(objects, file, doc);
    }
}

void objects_read(struct objects *objects, const char *path, bool may_have_jobs, struct strv *problems)
{
    struct object_file *file = NEW(struct object_file);
    bool is_input = str_eq(path, "-");
    AUTO(str) struct str text = {0};
    struct err err = {0};

    file->name = mem_strdup(is_input ? "standard input" : path);
    objects->files = mem_grow(objects->files, objects->file_count + 1, sizeof(*objects->files));
    objects->files[objects->file_count++] = file;
    if (!(is_input ? read_input(&text, &err) : file_read(path, FILE_MAX_BYTES, &text, &err)) ||
        !yaml_parse_stream(str_slice(&text), file->name, &file->doc, &err))
        strv_push(problems, err.msg);
    else
        add_objects(objects, file, may_have_jobs, problems);
}

void objects_release(struct objects *objects)
{
    for (size_t i = 0; i < objects->count; i++) {
        cJSON_Delete(objects->items[i].doc);
        strv_release(&objects->items[i].set);
    }
    for (size_t i = 0; i < objects->file_count; i++) {
        yaml_release(&objects->files[i]->doc);
        mem_free(objects->files[i]->name);
        mem_free(objects->files[i]);
    }
    mem_free(objects->items);
    mem_free(objects->unused);
    mem_free(objects->files);
    *objects = (struct objects){0};
}

bool object_is_kind(const struct object *object, const char *kind)
{
    return str_eq(json_str(object->doc, "kind", ""), kind);
}

const struct object *objects_find(const struct objects *objects, const char *kind, const char *ns,
                                  const char *name)
{
    for (size_t i = 0; i < objects->count; i++) {
        const struct object *object = &objects->items[i];

        if (object_is_kind(object, kind) && str_eq(json_str(object->doc, "metadata/namespace", ""), ns) &&
            str_eq(json_str(object->doc, "metadata/name", ""), name))
            return object;
    }
    return NULL;
}

/* ---- fields ---- */

/* One step of a path such as spec.a[0].b or data[file.txt]: a key, or the number of an item. NULL: there is
 * no such node. */
static const cJSON *step(const cJSON *node, const char **at)
{
    bool is_bracket = **at == '[';
    size_t len;

    *at += is_bracket || **at == '.';
    len = strcspn(*at, is_bracket ? "]" : ".[");
    AUTO(mem) char *key = mem_strndup(*at, len);
    *at += len;
    *at += is_bracket && **at == ']';
    return is_bracket && cJSON_IsArray(node) ? cJSON_GetArrayItem(node, (int)strtol(key, NULL, 10))
                                             : cJSON_GetObjectItemCaseSensitive(node, key);
}

/* The deepest node of the path that was written. */
static const cJSON *find_node(const cJSON *root, const char *path)
{
    const cJSON *node = root;

    for (const char *at = path; *at;) {
        const cJSON *next = step(node, &at);

        if (!next)
            break;
        node = next;
    }
    return node;
}

/* The last option that has set this field, or one that it is in. */
static const char *option_of(const struct object *object, const char *path)
{
    for (size_t i = object->set.count; i-- > 0;) {
        size_t len = strcspn(object->set.items[i], "=");

        if (strncmp(object->set.items[i], path, len) == 0 && strchr(".[", path[len]))
            return object->set.items[i];
    }
    return NULL;
}

void object_add_problem(const struct object *object, const char *problem, struct strv *problems)
{
    const char *colon = strstr(problem, ": "), *option;
    AUTO(mem) char *path = NULL;

    if (problems->count >= FIELD_PROBLEMS_MAX)
        return;
    path = mem_strndup(problem, colon ? (size_t)(colon - problem) : 0);
    option = option_of(object, path);
    if (option)
        strv_pushf(problems, "%s: --set %s: %s", object->file->name, option, problem);
    else
        strv_pushf(problems, "%s: line %u: %s", object->file->name,
                   yaml_line(&object->file->doc, find_node(object->original, path)), problem);
}

/* ---- options ---- */

static cJSON *parse_value(const char *text)
{
    struct err err;
    cJSON *value = json_parse(slice_of(text), &err);

    return value ? value : cJSON_CreateString(text);
}

/* "[12]": the item of a list, from the start of the text; what follows begins another step, or is the end. */
static cJSON *item_at(cJSON *list, const char **at)
{
    size_t digits = strspn(*at + 1, "0123456789");
    const char *end = *at + 1 + digits;
    int index = (int)strtol(*at + 1, NULL, 10);

    if (!digits || digits > INDEX_MAX_DIGITS || *end != ']' || !strchr(".[", end[1]))
        return NULL;
    *at = end + 1;
    return cJSON_IsArray(list) ? cJSON_GetArrayItem(list, index) : NULL;
}

/* Objects that are not there are made; items of lists are not. False: the path ends at a node that has no
 * such child. */
static bool set_at(cJSON *node, const char *path, const char *value, const cJSON **ret_node, size_t *ret_len)
{
    for (const char *at = path; node;) {
        cJSON *child;

        *ret_node = node;
        *ret_len = (size_t)(at - path);
        if (*at == '[') {
            child = item_at(node, &at);
            if (child && !*at)
                return cJSON_ReplaceItemViaPointer(node, child, parse_value(value));
        } else {
            size_t len = strcspn(at, ".[");
            AUTO(mem) char *key = mem_strndup(at, len);

            if (!len || !cJSON_IsObject(node))
                return false;
            at += len;
            if (!*at) {
                json_put_take(node, key, parse_value(value));
                return true;
            }
            child = cJSON_GetObjectItemCaseSensitive(node, key);
            if (!child && *at == '.')
                child = json_put_object(node, key);
        }
        node = child;
        at += *at == '.';
    }
    return false;
}

static char *why_not_set(const cJSON *node, const char *path, size_t len)
{
    int count = cJSON_GetArraySize(node), shown = (int)len - (len && path[len - 1] == '.');

    if (cJSON_IsArray(node) && count)
        return mem_printf("%.*s is a list of %d; use %.*s[0]%s", shown, path, count, shown, path,
                          count > 1 ? " or a later item" : "");
    return mem_strdup("there is no such field");
}

void objects_set(struct objects *objects, const char *assignment, struct strv *problems)
{
    const char *equals = strchr(assignment, '=');
    AUTO(mem) char *path = mem_strndup(assignment, equals ? (size_t)(equals - assignment) : 0);

    if (!equals || !str_has_prefix(path, "spec.")) {
        strv_pushf(problems, "--set %s: must be spec.FIELD=VALUE", assignment);
        return;
    }
    for (size_t i = 0; i < objects->count; i++) {
        struct object *object = &objects->items[i];
        const cJSON *node = NULL;
        size_t len = 0;

        if (!object_is_kind(object, API_KIND))
            continue;
        if (set_at(object->doc, path, equals + 1, &node, &len)) {
            strv_push(&object->set, assignment);
        } else {
            AUTO(mem) char *why = why_not_set(node, path, len);

            strv_pushf(problems, "--set %s: %s", assignment, why);
        }
    }
}
