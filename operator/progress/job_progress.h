/* The progress of a job, from the last report of each of its instances. Pure.
 *
 * The job's percentage is the mean of the instances that report one, its remaining time that of the instance
 * that takes longest, and its metrics are those of the first instance that reports any. Times are those at
 * which reports arrived: clocks of pods are not used. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "operator/progress/report.h"

#define PROGRESS_INSTANCES_SHOWN 16u
/* A report that is late by so much, or by five times the usual distance of two reports, is stale. */
#define PROGRESS_STALE_S 60
#define PROGRESS_WRITE_EVERY_S 10   /* of a job, at most */
#define PROGRESS_DETAILS_EVERY_S 60 /* if nothing but times and metrics has changed */
#define PROGRESS_MOVED_MIN 5        /* percentage points that tell how fast it is */
#define PROGRESS_REPORTS_MAX 20u    /* of an instance, in PROGRESS_WRITE_EVERY_S; others are not read */

/* Of the loop, for decisions, and of the wall, for readers. */
struct progress_time {
    int64_t loop_s, unix_s;
};

struct instance_progress {
    uint32_t instance, worker;
    bool has_reported;
    int64_t percent, remaining_s; /* as in the report */
    struct progress_time reported;
    int64_t gap_s; /* usual distance of two reports */
    /* When its percentage last rose, and where it began: with its first report, or when it fell because the
     * program started again. Of the loop. */
    int64_t moved_s, from_s, from_percent;
    int64_t admitted_since_s;
    uint32_t admitted; /* reports since then */
};

struct job_progress {
    struct instance_progress *instances; /* ordered */
    size_t count;
    struct progress_report metrics; /* its metrics alone... */
    uint32_t metrics_instance;      /* ...of this instance */
    char *problem;                  /* why the last report is not used; NULL: it is */
};

void job_progress_release(struct job_progress *progress);
/* Whether a report of this instance is to be read: who sends many gets no more work done than others. */
bool job_progress_admit(struct job_progress *progress, uint32_t instance, int64_t now_s);
/* Of several workers of an instance, the first one counts, as long as it reports. An empty report changes
 * nothing. */
void job_progress_add(struct job_progress *progress, uint32_t instance, uint32_t worker,
                      const struct progress_report *report, struct progress_time now);
const struct instance_progress *job_progress_find(const struct job_progress *progress,
                                                  uint32_t instance); /* NULL: it never reported */
/* What the program still takes if it goes on as fast as it has moved so far; -1: it has not moved enough to
 * tell, its reports are stale, or it should have ended already. */
int64_t instance_progress_left_s(const struct instance_progress *progress, int64_t now_s);
/* A report of the job was invalid: `problem` says why. The values before stay. */
void job_progress_reject(struct job_progress *progress, const char *problem);
/* As a status has it that another leader has written: from `now` on, its instances are expected to report. Of
 * instances that it does not list, nothing is known. */
void job_progress_restore(struct job_progress *progress, const cJSON *status, struct progress_time now);
/* {"progress", "trainerStatus"}: the members of the status, owned by the caller. The times of decisions are
 * those of the loop. */
cJSON *job_progress_print(const struct job_progress *progress, int64_t now_s);
/* A merge patch that gives a status exactly these members; owned by the caller. */
cJSON *job_progress_patch(const cJSON *printed);
/* When the status is to be written that shows `now` in place of `written`, which was written at `written_s`;
 * INT64_MAX: they are equal. */
int64_t job_progress_write_due_s(const cJSON *written, int64_t written_s, const cJSON *now);
/* When the next instance becomes stale; INT64_MAX: none will. */
int64_t job_progress_stale_at_s(const struct job_progress *progress, int64_t now_s);
