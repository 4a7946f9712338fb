#include <ctype.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "operator/api/job_read.h"

static enum restart_type read_restart_type(struct job *job, const cJSON *spec)
{
    static const char *const names[] = {"Never", "Always", "OnFailure", "ExitCode"};
    const cJSON *value = json_at(spec, "restartPolicy/type");
    const char *text = json_str(spec, "restartPolicy/type", value ? "" : "Never");

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (str_eq(text, names[i]))
            return (enum restart_type)i;
    }
    job_problem(job, "restartPolicy/type", value, "must be Always, OnFailure, Never or ExitCode");
    return RESTART_NEVER;
}

/* Digits at *at, at most 255; moves behind them. */
static bool take_code(const char **at, long *ret)
{
    char *end;

    if (!isdigit((unsigned char)**at))
        return false;
    *ret = strtol(*at, &end, 10);
    *at = end;
    return *ret <= 255;
}

/* Walks "1-5,137"; returns false when it is not that. With code >= 0, *ret_hit tells whether it is in the
 * list. */
static bool exit_codes_walk(const char *text, int code, bool *ret_hit)
{
    *ret_hit = false;
    for (;;) {
        long low, high;

        if (!take_code(&text, &low))
            return false;
        high = low;
        if (*text == '-') {
            text++;
            if (!take_code(&text, &high))
                return false;
        }
        if (low > high)
            return false;
        *ret_hit = *ret_hit || (code >= low && code <= high);
        if (!*text)
            return true;
        if (*text++ != ',')
            return false;
    }
}

bool job_exit_code_matches(const char *exit_codes, int code)
{
    bool hit = false;

    return exit_codes && exit_codes_walk(exit_codes, code, &hit) && hit;
}

void job_read_restart(struct job *job, const cJSON *spec)
{
    const cJSON *policy = json_at(spec, "restartPolicy");
    const char *codes = json_str(policy, "exitCodes", NULL);
    bool hit;

    job->spec.restart = read_restart_type(job, spec);
    job->spec.backoff_limit = job_count_field(job, spec, "restartPolicy/backOffLimit", 0, INT32_MAX, 3);
    job->spec.exit_codes = mem_strdup(codes);
    if (codes && !exit_codes_walk(codes, -1, &hit))
        job_problem(job, "restartPolicy/exitCodes", json_at(policy, "exitCodes"),
                    "must be codes from 0 to 255 and ranges such as \"1-5,137\"");
    if (job->spec.restart == RESTART_EXIT_CODE && !codes)
        strv_push(&job->problems, "spec.restartPolicy.exitCodes: is required when type is ExitCode");
}
