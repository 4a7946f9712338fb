/* Tells what the operator itself thinks of jobs, so that a test can compare it with what the API server says.
 *
 *   job_judge < LINES
 *
 * Each line is a JSON list: a job, or a job and what it is changed into. The answer is a line, too: the list
 * of its problems. */
#include <stdio.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "operator/api/job/additions.h"
#include "operator/api/job/jobspec.h"
#include "operator/api/job/validate.h"

static void answer(const cJSON *line)
{
    const cJSON *job = line->child, *changed = job ? job->next : NULL;
    AUTO(strv) struct strv problems = {0};
    AUTO(jobspec) struct job_spec spec = {0};
    AUTO(json) cJSON *list = json_array();

    validate_job(changed ? changed : job, &spec, &problems);
    additions_check(changed ? job : NULL, changed ? changed : job, &problems);
    if (changed)
        validate_change(job, changed, &problems);
    for (size_t i = 0; i < problems.count; i++)
        json_push_str(list, problems.items[i]);

    AUTO(mem) char *text = json_print(list);
    (void)puts(text);
}

int main(void)
{
    char *text = NULL;
    size_t size = 0;
    ssize_t len;

    while ((len = getline(&text, &size, stdin)) > 0) {
        struct err err = {0};
        AUTO(json) cJSON *line = json_parse((struct slice){text, (size_t)len}, &err);

        if (!line) {
            (void)fprintf(stderr, "job_judge: %s\n", err.msg);
            return EXIT_FAILURE;
        }
        answer(line);
    }
    free(text);
    return EXIT_SUCCESS;
}
