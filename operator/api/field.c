#include "operator/api/field.h"

#include <ctype.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/utf8.h"

/* Bytes in a message: of an invalid value, and of a path, whose last key may be any text. */
#define SHOWN_MAX 60
#define PATH_MAX_BYTES 256

/* Never inside a UTF-8 sequence: the API server would replace the rest of it. */
static void shorten(char *text, size_t max)
{
    if (strnlen(text, max + 1) > max)
        text[utf8_cut(text, max)] = '\0';
}

/* Keys in brackets have slashes of their own. */
static char *dotted(const char *path)
{
    char *text = mem_strdup(path);
    bool is_key = false;

    shorten(text, PATH_MAX_BYTES);
    for (char *p = text; *p; p++) {
        is_key = (is_key || *p == '[') && *p != ']';
        if (iscntrl((unsigned char)*p)) /* a problem is one line */
            *p = '?';
        else if (*p == '/' && !is_key)
            *p = '.';
    }
    return text;
}

static char *shown(const cJSON *value)
{
    char *text = json_print(value);

    shorten(text, SHOWN_MAX);
    return text;
}

static void add(struct strv *problems, const char *path, const char *kind, const cJSON *value,
                const char *what)
{
    AUTO(mem) char *name = dotted(path);
    AUTO(mem) char *text = value ? shown(value) : NULL;

    AUTO(mem)
    char *problem = mem_printf("%s: %s%s%s%s%s", name, kind, text ? ": " : "", text ? text : "",
                               what ? ": " : "", what ? what : "");

    if (problems->count < FIELD_PROBLEMS_MAX && !strv_has(problems, problem)) /* a key may come twice */
        strv_push(problems, problem);
}

void field_required(struct strv *problems, const char *path)
{
    add(problems, path, "Required value", NULL, NULL);
}

void field_invalid(struct strv *problems, const char *path, const cJSON *value, const char *what)
{
    add(problems, path, "Invalid value", value, what);
}

void field_invalid_text(struct strv *problems, const char *path, const cJSON *value)
{
    bool has_children = cJSON_IsArray(value) || cJSON_IsObject(value);

    field_invalid(problems, path, value,
                  has_children ? "must be a string" : "must be a string; put it in quotes");
}

static void unsupported(struct strv *problems, const char *path, const cJSON *value,
                        const char *const *supported, size_t count)
{
    AUTO(str) struct str list = {0};

    str_adds(&list, "supported values: ");
    for (size_t i = 0; i < count; i++)
        str_addf(&list, "%s\"%s\"", i ? ", " : "", supported[i]);
    add(problems, path, "Unsupported value", value, str_text(&list));
}

void field_duplicate(struct strv *problems, const char *path, const cJSON *value)
{
    add(problems, path, "Duplicate value", value, NULL);
}

void field_forbidden(struct strv *problems, const char *path, const char *why)
{
    add(problems, path, "Forbidden", NULL, why);
}

const cJSON *field_at(const cJSON *job, const char *path)
{
    const cJSON *value = json_at(job, path);

    return cJSON_IsNull(value) ? NULL : value;
}

bool field_count_read(const cJSON *value, uint32_t *ret)
{
    if (cJSON_IsString(value))
        return !(value->valuestring[0] == '0' && value->valuestring[1]) &&
               parse_u32(value->valuestring, 0, UINT32_MAX, ret);
    if (!cJSON_IsNumber(value) || value->valuedouble < 0 || value->valuedouble > UINT32_MAX ||
        value->valuedouble != (double)(uint32_t)value->valuedouble)
        return false;
    *ret = (uint32_t)value->valuedouble;
    return true;
}

static uint32_t read_count(const cJSON *job, const char *path, uint32_t min, uint32_t max, uint32_t fallback,
                           bool may_be_text, const char *unit, struct strv *problems)
{
    const cJSON *value = field_at(job, path);
    uint32_t count;
    bool is_valid;

    if (!value)
        return fallback;
    is_valid = field_count_read(value, &count) && count >= min && count <= max;
    if (is_valid && (may_be_text || !cJSON_IsString(value)))
        return count;

    AUTO(mem)
    char *what = mem_printf("must be a whole number%s from %u to %u%s", unit, min, max,
                            is_valid ? ", without quotes" : "");
    field_invalid(problems, path, value, what);
    return fallback;
}

uint32_t field_count(const cJSON *job, const char *path, uint32_t min, uint32_t max, uint32_t fallback,
                     struct strv *problems)
{
    return read_count(job, path, min, max, fallback, false, "", problems);
}

uint32_t field_seconds(const cJSON *job, const char *path, uint32_t min, uint32_t fallback,
                       struct strv *problems)
{
    return read_count(job, path, min, INT32_MAX, fallback, false, " of seconds", problems);
}

uint32_t field_count_or_text(const cJSON *job, const char *path, uint32_t min, uint32_t max,
                             uint32_t fallback, struct strv *problems)
{
    return read_count(job, path, min, max, fallback, true, "", problems);
}

const char *field_text(const cJSON *job, const char *path, struct strv *problems)
{
    const cJSON *value = field_at(job, path);

    if (value && !cJSON_IsString(value)) {
        field_invalid_text(problems, path, value);
        return NULL;
    }
    return value ? value->valuestring : NULL;
}

int field_bool(const cJSON *job, const char *path, int fallback, struct strv *problems)
{
    const cJSON *value = field_at(job, path);

    if (value && !cJSON_IsBool(value)) {
        field_invalid(problems, path, value, "must be true or false");
        return fallback;
    }
    return value ? cJSON_IsTrue(value) : fallback;
}

size_t field_choice(const cJSON *job, const char *path, const char *const *names, size_t count,
                    size_t fallback, struct strv *problems)
{
    const cJSON *value = field_at(job, path);

    if (!value)
        return fallback;
    for (size_t i = 0; i < count; i++) {
        if (cJSON_IsString(value) && str_eq(value->valuestring, names[i]))
            return i;
    }
    unsupported(problems, path, value, names, count);
    return fallback;
}
