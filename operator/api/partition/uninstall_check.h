/* May the operator leave? Only when no job would be left with IPUs that nobody gives back, or with a
 * finalizer that nobody takes away, and no partition with a record that nobody goes on with. Pure. */
#pragma once

#include "operator/api/job/job.h"
#include "operator/api/partition/record.h"

enum uninstall_check {
    UNINSTALL_OK,        /* nothing of the operator hangs on it */
    UNINSTALL_SUSPENDED, /* suspended, and all is given back: only the finalizer is left, and can go */
    UNINSTALL_ENDING,    /* being deleted, suspended or tidied up: free in a while, by itself */
    UNINSTALL_BLOCKED,   /* uses IPUs or waits for them, until somebody ends or suspends it */
};

enum uninstall_check uninstall_check_job(const struct job *job);
/* Of what the job itself does not stand for; never parked. job: the one of the record's namespace and name,
 * whatever its uid; NULL: there is none. */
enum uninstall_check uninstall_check_record(const struct record *record, const struct job *job);
/* "team/train (Running)", yours. */
char *uninstall_describe_job(const struct job *job);
/* "p-train-team-0 (team/train)", yours. */
char *uninstall_describe_record(const struct record *record);
