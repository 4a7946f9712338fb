/* Whether the operator can be uninstalled: only if no job would be left with IPUs that are never released or
 * with a finalizer that is never removed, and no partition with a record that is never processed. Pure. */
#pragma once

#include "operator/api/job/job.h"
#include "operator/api/partition/record.h"

enum uninstall_check {
    UNINSTALL_OK,        /* nothing depends on the operator */
    UNINSTALL_SUSPENDED, /* suspended, with everything released: only the finalizer is left, and can be
                            removed */
    UNINSTALL_ENDING,    /* being deleted, suspended or cleaned up: soon finished, without help */
    UNINSTALL_BLOCKED,   /* uses IPUs or waits for them, until a user ends or suspends it */
};

/* operator_ns: of the operator that is uninstalled; jobs of others do not count. */
enum uninstall_check uninstall_check_job(const struct job *job, const char *operator_ns);
/* A record that its job does not account for; never `parked`. job: the one with the record's namespace and
 * name, whatever its uid; NULL: there is none. */
enum uninstall_check uninstall_check_record(const struct record *record, const struct job *job,
                                            const char *operator_ns);
/* "team/train (Running)", owned by the caller. */
char *uninstall_describe_job(const struct job *job);
/* "p-train-team-0 (team/train)", owned by the caller. */
char *uninstall_describe_record(const struct record *record);
