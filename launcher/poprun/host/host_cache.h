/* The run's own directory for executables on one of its hosts: created by the first instance there, locked
 * by each, removed by the last. A directory of another user is rejected. One without a lock is left over
 * from a run that was killed as a whole; the next run removes it. */
#pragma once

#define HOST_CACHE_NAME "poprun-cache-"

#include "base/core/err.h"

/* A descriptor with the lock, closed when a program is executed. Children of the caller share it. */
MUST_USE bool host_cache_take(const char *path, int *ret, struct err *err);
/* Releases the lock; the last one removes the directory. */
void host_cache_leave(const char *path, int hold);
/* Removes this user's directories in the folder that are not locked. */
void host_cache_sweep(const char *folder);
