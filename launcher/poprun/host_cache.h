/* The run's own directory for executables on one of its hosts: made by the first instance there, locked by
 * each, removed by whoever lets go of it last. It refuses a directory that is somebody else's. */
#pragma once

#include "base/core/err.h"

/* A descriptor that holds it, closed when a program is executed. Children of the caller share the hold. */
MUST_USE bool host_cache_take(const char *path, int *ret, struct err *err);
/* Gives the hold back; the last one removes the directory. */
void host_cache_leave(const char *path, int hold);
