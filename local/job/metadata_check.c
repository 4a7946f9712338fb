#include "local/job/metadata_check.h"

#include <ctype.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/api/job/additions.h"
#include "operator/api/field.h"
#include "operator/api/names.h"

#define SUBDOMAIN_MAX 253
#define LOWER "abcdefghijklmnopqrstuvwxyz0123456789"
#define LETTERS LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define ENDS "and start and end with a letter or digit"
#define LABEL_WANTED "must consist of at most 63 lowercase letters, digits and '-', " ENDS
#define SUBDOMAIN_WANTED                                                                                     \
    "must consist of at most 253 lowercase letters, digits, '-' and '.', and each part between dots must "   \
    "start and end with a letter or digit"
#define LABEL_VALUE_WANTED "must be empty or consist of at most 63 letters, digits, '-', '_' and '.', " ENDS
#define KEY_WANTED                                                                                           \
    "must have a name of at most 63 letters, digits, '-', '_' and '.' that starts and ends with a letter "   \
    "or digit, such as app or example.com/app"

/* ---- k8s.io/apimachinery, pkg/util/validation ---- */

static bool is_word(struct slice text, size_t max, const char *ends, const char *inner)
{
    if (!text.len || text.len > max || !strchr(ends, text.ptr[0]) || !strchr(ends, text.ptr[text.len - 1]))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (!strchr(ends, text.ptr[i]) && !strchr(inner, text.ptr[i]))
            return false;
    }
    return true;
}

static bool is_label(const char *text)
{
    return is_word(slice_of(text), LABEL_MAX, LOWER, "-");
}

static bool is_subdomain(const char *text)
{
    AUTO(strv) struct strv parts = {0};

    if (!is_word(slice_of(text), SUBDOMAIN_MAX, LOWER, "-."))
        return false;
    strv_split(text, '.', &parts);
    for (size_t i = 0; i < parts.count; i++) {
        if (!is_word(slice_of(parts.items[i]), SUBDOMAIN_MAX, LOWER, "-"))
            return false;
    }
    return !strstr(text, "..");
}

/* More letters will follow its dash. */
static bool is_generated_name(const char *text)
{
    size_t len = strlen(text);
    AUTO(mem) char *name = mem_strdup(text);

    if (len > 1 && name[len - 1] == '-')
        name[len - 1] = 'a';
    return is_subdomain(name);
}

static bool is_label_value(const char *text)
{
    return !*text || is_word(slice_of(text), LABEL_MAX, LETTERS, "-_.");
}

static bool is_key(const char *text)
{
    const char *slash = strchr(text, '/');
    AUTO(mem) char *domain = slash ? mem_strndup(text, (size_t)(slash - text)) : NULL;

    return (!domain || is_subdomain(domain)) &&
           is_word(slice_of(slash ? slash + 1 : text), LABEL_MAX, LETTERS, "-_.");
}

/* Their domains may have capital letters. */
static bool is_annotation_key(const char *text)
{
    AUTO(mem) char *lower = mem_strdup(text);

    for (char *at = lower; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return is_key(lower);
}

/* ---- fields ---- */

static void check_fields(const cJSON *doc, struct strv *problems)
{
    static const char fields[] =
        "name generateName namespace labels annotations finalizers ownerReferences uid resourceVersion "
        "generation creationTimestamp deletionTimestamp deletionGracePeriodSeconds managedFields selfLink";
    static const char *const templates[] = {"spec/workers/template", "spec/launcher/template"};

    additions_check_fields(doc, "metadata", fields, problems);
    for (size_t i = 0; i < COUNT_OF(templates); i++) {
        AUTO(mem) char *metadata = mem_printf("%s/metadata", templates[i]);

        additions_check_fields(doc, templates[i], "metadata spec", problems);
        additions_check_fields(doc, metadata, fields, problems);
    }
}

static void check_names(const cJSON *doc, struct strv *problems)
{
    static const struct {
        const char *path;
        bool (*is_valid)(const char *text);
        const char *wanted;
    } rows[] = {{"metadata/name", is_subdomain, SUBDOMAIN_WANTED},
                {"metadata/generateName", is_generated_name, SUBDOMAIN_WANTED},
                {"metadata/namespace", is_label, LABEL_WANTED},
                {"spec/workers/template/spec/hostname", is_label, LABEL_WANTED},
                {"spec/workers/template/spec/subdomain", is_label, LABEL_WANTED},
                {"spec/launcher/template/spec/hostname", is_label, LABEL_WANTED},
                {"spec/launcher/template/spec/subdomain", is_label, LABEL_WANTED}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const cJSON *value = field_at(doc, rows[i].path);

        if (value && !cJSON_IsString(value))
            field_invalid_text(problems, rows[i].path, value);
        else if (value && !rows[i].is_valid(value->valuestring))
            field_invalid(problems, rows[i].path, value, rows[i].wanted);
    }
}

static void check_pairs(const cJSON *doc, const char *metadata, bool is_labels, struct strv *problems)
{
    AUTO(mem) char *path = mem_printf("%s/%s", metadata, is_labels ? "labels" : "annotations");
    const cJSON *pairs = field_at(doc, path);

    if (pairs && !cJSON_IsObject(pairs)) {
        field_invalid(problems, path, pairs, "must be an object");
        return;
    }
    JSON_EACH (pair, pairs) {
        AUTO(mem) char *place = mem_printf("%s[%s]", path, json_key(pair));

        if (!(is_labels ? is_key : is_annotation_key)(json_key(pair)))
            field_invalid(problems, place, NULL, KEY_WANTED);
        else if (!cJSON_IsString(pair))
            field_invalid_text(problems, place, pair);
        else if (is_labels && !is_label_value(pair->valuestring))
            field_invalid(problems, place, pair, LABEL_VALUE_WANTED);
    }
}

void metadata_check(const struct object *object, struct strv *problems)
{
    static const char *const places[] = {"metadata", "spec/workers/template/metadata",
                                         "spec/launcher/template/metadata"};

    check_fields(object->doc, problems);
    check_names(object->doc, problems);
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        check_pairs(object->doc, places[i], true, problems);
        check_pairs(object->doc, places[i], false, problems);
    }
}
