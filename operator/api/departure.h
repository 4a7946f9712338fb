/* May the operator leave? Only when no job would be left with IPUs that nobody gives back, or with a
 * finalizer that nobody takes away, and no partition with a record that nobody goes on with. Pure. */
#pragma once

#include "operator/api/job.h"
#include "operator/api/record.h"

enum departure {
    DEPARTURE_FREE,   /* nothing of the operator hangs on it */
    DEPARTURE_PARKED, /* suspended, and all is given back: only the finalizer is left, and can go */
    DEPARTURE_ENDING, /* being deleted, suspended or tidied up: free in a while, by itself */
    DEPARTURE_LIVE,   /* uses IPUs or waits for them, until somebody ends or suspends it */
};

enum departure departure_of(const struct job *job);
/* Of what the job itself does not stand for; never parked. job: the one of the record's namespace and name,
 * whatever its uid; NULL: there is none. */
enum departure departure_of_record(const struct record *record, const struct job *job);
/* "team/train (Running)", yours. */
char *departure_describe(const struct job *job);
/* "p-train-team-0 (team/train)", yours. */
char *departure_describe_record(const struct record *record);
