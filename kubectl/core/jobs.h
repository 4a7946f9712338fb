/* What kubectl ipu queue and top show of a list of IPUJobs: reports, whose JSON is stable, and the columns of
 * their tables. Pure. */
#pragma once

#include "kubectl/core/table.h"

#define REPORT_API_VERSION "cli.graphcore.ai/v1alpha1"

/* An IPUJob's time of entering its state, as in its status, or NULL. Borrowed. */
const char *job_since(const cJSON *job);
bool job_has_ended(const cJSON *job);
/* IPUs that its partitions have. */
int64_t job_held_ipus(const cJSON *job);
/* Items: the jobs that wait for IPUs, by controller and position. Controllers are items of a list, or NULL;
 * they tell the shares of namespaces. Owned by the caller, as the next one. */
cJSON *queue_report(const cJSON *jobs, const cJSON *controllers);
/* Items: the jobs that hold IPUs, those with the most first. */
cJSON *top_report(const cJSON *jobs, const cJSON *controllers);
/* A sentence instead of a table without rows: none of these jobs is in the report. */
void queue_say_nothing(const cJSON *jobs, const char *ns, struct str *out);
void top_say_nothing(const cJSON *jobs, const char *ns, struct str *out);

extern const struct column queue_columns[];
extern const struct column top_columns[];
