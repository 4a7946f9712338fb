/* May the operator leave? Only when no job would be left with IPUs that nobody gives back, or with a
 * finalizer that nobody takes away. Pure. */
#pragma once

#include "operator/api/job.h"

enum departure {
    DEPARTURE_FREE,   /* nothing of the operator hangs on it */
    DEPARTURE_PARKED, /* suspended, and all is given back: only the finalizer is left, and can go */
    DEPARTURE_ENDING, /* being deleted, suspended or tidied up: free in a while, by itself */
    DEPARTURE_LIVE,   /* uses IPUs or waits for them, until somebody ends or suspends it */
};

enum departure departure_of(const struct job *job);
/* "team/train (Running)", yours. */
char *departure_describe(const struct job *job);
