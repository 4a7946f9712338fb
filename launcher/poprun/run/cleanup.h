/* What a run has created and must remove: directories, a partition. The list is in memory that the guard
 * shares with the runner, so that either one can clean up if the other was killed. A thing is listed before
 * it is created and delisted after it is removed; removing something missing is no failure. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "launcher/poprun/log/run_log.h"
#include "vipu/client/endpoint.h"

struct cleanup {
    char cache_dir[4096]; /* "" if there is none */
    int cache_hold;       /* locked by the runner, on cache_dir itself */
    uint32_t cache_hosts; /* 0: cache_dir itself; otherwise there is one for each host: plan_host_cache */
    char partition[256];
    pid_t mpirun; /* 0 if it was not started */
};

struct cleanup *cleanup_new(void); /* shared with children; never freed: it lives as long as the run */
void cleanup_note(char *place, size_t size, const char *text);
/* `folder` is the one for temporary files. */
void cleanup_run(struct cleanup *left, const char *folder, const struct vipu_endpoint *endpoint,
                 uint32_t timeout_s, const struct run_log *log);
