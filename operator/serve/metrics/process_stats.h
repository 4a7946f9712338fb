/* CPU time, memory and file descriptors of this process; 0 if unreadable. */
#pragma once

#include <stdint.h>

struct process_stats {
    double cpu_s;
    uint64_t resident_bytes;
    uint32_t open_fds;
};

struct process_stats process_stats_read(void);
