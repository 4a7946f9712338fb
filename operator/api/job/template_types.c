#include "operator/api/job/template_types.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "operator/api/field.h"

enum kind { STRING, OBJECT, OBJECTS, STRINGS, STRING_MAP, QUANTITIES };

struct row {
    const char *path;
    enum kind kind;
};

static const struct row IN_TEMPLATE[] = {
    {"metadata", OBJECT},
    {"metadata/labels", STRING_MAP},
    {"metadata/annotations", STRING_MAP},
    {"spec/nodeSelector", STRING_MAP},
    {"spec/tolerations", OBJECTS},
};
static const struct row IN_CONTAINER[] = {
    {"image", STRING},
    {"command", STRINGS},
    {"args", STRINGS},
    {"resources", OBJECT},
    {"resources/limits", QUANTITIES},
    {"resources/requests", QUANTITIES},
};

/* ---- quantities ---- */

static const char *after_digits(const char *at)
{
    return at + strspn(at, "0123456789");
}

static bool is_suffix(const char *text)
{
    if (*text == '\0')
        return true;
    if (strchr("KMGTPE", *text) && str_eq(text + 1, "i"))
        return true;
    if (strchr("numkMGTPE", *text) && text[1] == '\0')
        return true;
    if (*text != 'e' && *text != 'E')
        return false;
    text += text[1] == '+' || text[1] == '-' ? 2 : 1;
    return isdigit((unsigned char)*text) && *after_digits(text) == '\0';
}

bool quantity_is_valid(const cJSON *value)
{
    const char *at, *whole, *rest;
    uint32_t unused;

    if (!cJSON_IsString(value))
        return cJSON_IsRaw(value) || field_count_read(value, &unused) ||
               (cJSON_IsNumber(value) && value->valuedouble == (double)(int64_t)value->valuedouble);
    at = value->valuestring;
    at += *at == '+' || *at == '-';
    whole = after_digits(at);
    rest = *whole == '.' ? after_digits(whole + 1) : whole;
    return rest - at > (*whole == '.') && is_suffix(rest);
}

/* strtod(3) reads an exponent, but not E for exa. */
double quantity_read(const cJSON *value)
{
    static const struct {
        const char *suffix;
        double factor;
    } rows[] = {{"n", 1e-9},    {"u", 1e-6},    {"m", 1e-3},    {"k", 1e3},     {"M", 1e6},
                {"G", 1e9},     {"T", 1e12},    {"P", 1e15},    {"E", 1e18},    {"Ki", 0x1p10},
                {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60}};
    char *rest = NULL;
    double number;

    if (!value || !quantity_is_valid(value))
        return 0;
    if (!cJSON_IsString(value))
        return cJSON_IsNumber(value) ? value->valuedouble : 0;
    number = strtod(value->valuestring, &rest);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_eq(rest, rows[i].suffix))
            return number * rows[i].factor;
    return number;
}

/* ---- values ---- */

static void check_text(const cJSON *value, const char *path, struct strv *problems)
{
    if (!cJSON_IsString(value))
        field_invalid_text(problems, path, value);
}

static void check_quantity(const cJSON *value, const char *path, struct strv *problems)
{
    if (!quantity_is_valid(value))
        field_invalid(problems, path, value, QUANTITY_WANTED);
}

static void check_object(const cJSON *value, const char *path, struct strv *problems)
{
    if (!cJSON_IsObject(value))
        field_invalid(problems, path, value, "must be an object");
}

#define STRINGS_WANTED "must be a list of strings, such as [\"sleep\", \"10\"]"

typedef void (*check_fn)(const cJSON *value, const char *path, struct strv *problems);

static void check_members(const cJSON *value, const char *path, check_fn check, struct strv *problems)
{
    if (!cJSON_IsObject(value)) {
        field_invalid(problems, path, value, "must be an object");
        return;
    }
    JSON_EACH (member, value) {
        AUTO(mem) char *inner = mem_printf("%s[%s]", path, json_key(member));

        check(member, inner, problems);
    }
}

static void check_items(const cJSON *value, const char *path, check_fn check, struct strv *problems)
{
    size_t n = 0;

    if (!cJSON_IsArray(value)) {
        field_invalid(problems, path, value, check == check_text ? STRINGS_WANTED : "must be a list");
        return;
    }
    JSON_EACH (item, value) {
        AUTO(mem) char *inner = mem_printf("%s[%zu]", path, n++);

        check(item, inner, problems);
    }
}

static void check_value(const cJSON *value, const char *path, enum kind kind, struct strv *problems)
{
    switch (kind) {
    case STRING:
        check_text(value, path, problems);
        break;
    case OBJECT:
        check_object(value, path, problems);
        break;
    case OBJECTS:
        check_items(value, path, check_object, problems);
        break;
    case STRINGS:
        check_items(value, path, check_text, problems);
        break;
    case STRING_MAP:
        check_members(value, path, check_text, problems);
        break;
    case QUANTITIES:
        check_members(value, path, check_quantity, problems);
        break;
    }
}

static void check_rows(const cJSON *object, const char *path, const struct row *rows, size_t count,
                       struct strv *problems)
{
    for (size_t i = 0; i < count; i++) {
        const cJSON *value = field_at(object, rows[i].path);
        AUTO(mem) char *inner = mem_printf("%s/%s", path, rows[i].path);

        if (value)
            check_value(value, inner, rows[i].kind, problems);
    }
}

/* ---- containers ---- */

static void check_variable(const cJSON *variable, const char *path, struct strv *problems)
{
    const cJSON *name = field_at(variable, "name"), *value = field_at(variable, "value");
    AUTO(mem) char *name_path = mem_printf("%s/name", path);
    AUTO(mem) char *value_path = mem_printf("%s/value", path);

    if (!cJSON_IsObject(variable))
        field_invalid(problems, path, variable, "must be an object");
    else if (!name || str_eq(json_str(variable, "name", NULL), ""))
        field_required(problems, name_path);
    else
        check_text(name, name_path, problems);
    if (value)
        check_text(value, value_path, problems);
}

void template_types_check_env(const cJSON *job, const char *path, struct strv *problems)
{
    const cJSON *list = field_at(job, path);

    if (list)
        check_items(list, path, check_variable, problems);
}

static void check_container(const cJSON *container, const char *path, struct strv *problems)
{
    const cJSON *env = field_at(container, "env");
    AUTO(mem) char *env_path = mem_printf("%s/env", path);

    check_rows(container, path, IN_CONTAINER, COUNT_OF(IN_CONTAINER), problems);
    if (env)
        check_items(env, env_path, check_variable, problems);
}

void template_types_check(const cJSON *job, const char *path, struct strv *problems)
{
    static const char *const lists[] = {"spec/containers", "spec/initContainers"};
    const cJSON *template = json_at(job, path);

    check_rows(template, path, IN_TEMPLATE, COUNT_OF(IN_TEMPLATE), problems);
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const cJSON *list = json_at(template, lists[i]);
        AUTO(mem) char *inner = mem_printf("%s/%s", path, lists[i]);

        if (cJSON_IsArray(list))
            check_items(list, inner, check_container, problems);
    }
}
