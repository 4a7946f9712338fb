/* The root cause: what failed first in an attempt of an instance, which pod to name for it, and what stays
 * of it in the status when the pod is gone. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operator/api/job/job.h"
#include "operator/api/observed/pod.h"
#include "operator/api/partition/record.h"
#include "operator/reconcile/decide/model/view.h"

#define STATUS_FAILURES_MAX 3
/* Of the other pods of an instance's last failed attempt: how many are kept, and how much of each log. */
#define STATUS_OTHER_PODS_MAX 8
#define STATUS_OTHER_LINES_MAX 1024

/* One failure. Everything in it is borrowed. */
struct failure {
    const char *reason; /* of reasons.h; NULL: nothing has failed */
    const char *pod_name;
    const struct pod *pod;         /* NULL when the pod is gone */
    const struct pod *reported_by; /* the launcher whose log reports it; NULL: the pod's own status does */
    const struct instance_view *partition_of; /* whose partition has failed; NULL: the pod has */
    bool is_disruption; /* the pod was evicted or deleted; its containers' exit codes mean nothing */
    int64_t at_s;       /* 0: unknown */
    uint32_t instance;
    uint32_t attempt; /* the restarts before it */
    /* All pods of the attempt, when they have ended and the next one takes their names; else NULL. */
    const struct worker_view *pods;
    uint32_t pod_count;
};

struct failure failure_of_pod(const struct pod *pod);
struct failure failure_of_disruption(const struct pod *pod);
/* The failure of the launcher when its last lines blame a worker of this instance; otherwise its reason is
 * NULL. */
struct failure failure_of_lost_worker(const struct pod *launcher, const struct worker_view *workers,
                                      uint32_t count);
/* Its first pod is named. */
struct failure failure_of_partition(const struct job_view *view, const struct instance_view *inst);
struct failure failure_of_record(const struct record *record); /* a disruption that was noted there */
/* Keeps the earlier of the two in *first. */
void failure_take_first(struct failure *first, const struct failure *other);
/* Does the policy restart it, as long as there are restarts left? */
bool failure_calls_for_restart(const struct job_spec *spec, const struct failure *failure);
char *failure_sentence(const struct failure *failure); /* without period; caller frees */
/* The last line that the program, or its rank that failed first, printed, if the sentence does not say why it
 * ended; else empty. Borrowed. */
struct slice failure_last_line(const struct failure *failure);
/* The sentence with the node and the last lines of the log: for an event. Caller frees. */
char *failure_details(const struct failure *failure);

/* The end of a log, from the beginning of a line. Never empty if the log is not. Borrowed. */
const char *failure_last_lines(const char *log, size_t most);

/* The failures in the status: the entries so far and these, the newest first, each attempt once with what
 * failed first in it. start_s: earlier entries belong to a time before the job was resumed, and are not
 * compared. NULL when there are none. Caller frees. */
cJSON *failures_merge(const cJSON *before, const struct failure *failures, size_t count, int64_t start_s);
/* What an entry says, with the last line: the pod itself may be gone. Caller frees. */
char *failure_entry_sentence(const cJSON *item);
bool failures_include(const cJSON *failures, const struct failure *failure,
                      int64_t start_s); /* is it among them? */
