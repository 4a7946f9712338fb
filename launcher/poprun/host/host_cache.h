/* The run's own directory for executables on one of its hosts: made by the first who comes there, locked by
 * each, removed by whoever lets go of it last. It refuses a directory that is somebody else's. One that
 * nobody holds was left behind by a run that was killed as a whole, and is taken away by the next. */
#pragma once

#define HOST_CACHE_NAME "poprun-cache-"

#include "base/core/err.h"

/* A descriptor that holds it, closed when a program is executed. Children of the caller share the hold. */
MUST_USE bool host_cache_take(const char *path, int *ret, struct err *err);
/* Gives the hold back; the last one removes the directory. */
void host_cache_leave(const char *path, int hold);
/* Removes this user's in the folder that nobody holds. */
void host_cache_sweep(const char *folder);
