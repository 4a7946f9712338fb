/* What a run prints: a line for each change of a job's status, and the lines of the pods, each with its rank.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/doc/json.h"
#include "local/node/container_log.h"

struct report {
    FILE *out;
    bool is_terminal, has_colour;
    int name_width; /* of the longest name of a job; 0: there is only one job */
    int64_t begun_ms;
    bool is_broken; /* cannot be written, as standard error has been told */
};

/* "[0.3]" for worker 3 of instance 0, "[0.launcher]", "[JOB 0.3]" if it names the job, and with the
 * container's name unless it is the first. Pure; owned by the caller. */
char *report_tag(const cJSON *pod, const char *container, bool names_job);
void report_line(struct report *report, const cJSON *pod, const char *container,
                 const struct container_line *line);
/* The progress in a job's status, with the first metric. */
void report_progress(struct report *report, int64_t now_ms, const char *job, const cJSON *status);
void report_status(struct report *report, int64_t now_ms, const char *job, const char *state,
                   const char *message);
