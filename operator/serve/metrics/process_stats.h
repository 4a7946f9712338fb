/* CPU time, memory and file descriptors of this process; 0 if unreadable. And the release of unused memory.
 */
#pragma once

#include <stdint.h>

struct process_stats {
    double cpu_s;
    uint64_t resident_bytes;
    uint32_t open_fds;
};

struct process_stats process_stats_read(void);
/* Returns freed memory to the system: a burst of jobs must not hold it until the next start. */
void malloc_trim_unused(void);
