/* What a run has made and must take away: directories, a partition. The note of it is in memory that the
 * guard shares with the runner, so that either one can clean up when the other was killed. A thing is noted
 * before it is made and forgotten after it is gone; removing what is not there is no failure. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "launcher/poprun/log/run_log.h"
#include "vipu/client/endpoint.h"

struct cleanup {
    char cache_dir[4096]; /* "" when there is none */
    int cache_hold;       /* of the runner, on cache_dir itself */
    uint32_t cache_hosts; /* 0: cache_dir itself; otherwise there is one for each host: plan_host_cache */
    char partition[256];
    pid_t mpirun; /* 0 when it was not started */
};

struct cleanup *cleanup_new(void); /* shared with children; never freed: it is the run's own */
void cleanup_note(char *place, size_t size, const char *text);
/* `folder` is where temporary files are. */
void cleanup_run(struct cleanup *left, const char *folder, const struct vipu_endpoint *endpoint,
                 uint32_t timeout_s, const struct run_log *run_log);
