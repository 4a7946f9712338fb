/* What this process takes of its machine: CPU time, memory, descriptors. What cannot be read is 0. And what
 * it gives back. */
#pragma once

#include <stdint.h>

struct process_stats {
    double cpu_s;
    uint64_t resident_bytes;
    uint32_t open_fds;
};

struct process_stats process_stats_read(void);
/* Memory that was freed goes back to the system: a wave of jobs must not be paid for until the next start. */
void malloc_trim_unused(void);
