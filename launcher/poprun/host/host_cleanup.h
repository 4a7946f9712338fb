/* Watchers beside an instance on a host where nothing else of poprun runs: two processes that wait for the
 * end of mpirun's daemon there, then end what is left of the instance and release its lock of the executable
 * cache. Two, because each may be killed. They share nothing with the instance: no terminal, no output, not
 * its process group. */
#pragma once

#include "base/core/err.h"

struct host_cleanup {
    const char *cache_dir;   /* NULL: none */
    int cache_hold;          /* of host_cache.h; shared with the watchers */
    const char *session_dir; /* the daemon's, or NULL */
};

/* Called by the instance before it executes the program. ERR_IO: this host cannot watch processes. */
MUST_USE bool host_cleanup_start(const struct host_cleanup *cleanup, struct err *err);
