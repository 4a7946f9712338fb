#include "operator/api/job_read.h"

#include <string.h>

#include "base/core/mem.h"

#define SHOWN_MAX 60 /* bytes of a wrong value in a message */

/* The three counts are strings in the original's schema; digits as a number are accepted as well. */
bool job_count_read(const cJSON *value, uint32_t *ret)
{
    if (cJSON_IsString(value))
        return parse_u32(value->valuestring, 0, UINT32_MAX, ret);
    if (!cJSON_IsNumber(value) || value->valuedouble < 0 || value->valuedouble > UINT32_MAX ||
        value->valuedouble != (double)(uint32_t)value->valuedouble)
        return false;
    *ret = (uint32_t)value->valuedouble;
    return true;
}

/* Never inside a UTF-8 sequence: the API server would keep something else than what was sent. */
static void shorten(char *text)
{
    size_t len = strnlen(text, SHOWN_MAX + 1);

    if (len <= SHOWN_MAX)
        return;
    for (len = SHOWN_MAX; ((unsigned char)text[len] & 0xC0) == 0x80;)
        len--;
    text[len] = '\0';
}

void job_problem(struct job *job, const char *field, const cJSON *value, const char *what)
{
    AUTO(mem) char *shown = value ? json_print(value) : mem_strdup("nothing");
    AUTO(mem) char *path = mem_strdup(field);

    for (char *p = path; *p; p++)
        *p = *p == '/' ? '.' : *p;
    shorten(shown);
    strv_pushf(&job->problems, "spec.%s: %s, got %s", path, what, shown);
}

/* Reads an optional count in [min, max]; a bad one is a problem and leaves the fallback. */
uint32_t job_count_field(struct job *job, const cJSON *spec, const char *field, uint32_t min, uint32_t max,
                         uint32_t fallback)
{
    const cJSON *value = json_at(spec, field);
    uint32_t count;

    if (!value || cJSON_IsNull(value))
        return fallback;
    if (!job_count_read(value, &count) || count < min || count > max) {
        AUTO(mem) char *what = mem_printf("must be a whole number from %u to %u", min, max);
        job_problem(job, field, value, what);
        return fallback;
    }
    return count;
}
