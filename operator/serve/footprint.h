/* What this process takes of its machine: CPU time, memory, descriptors. What cannot be read is 0. */
#pragma once

#include <stdint.h>

struct footprint {
    double cpu_s;
    uint64_t resident_bytes;
    uint32_t open_fds;
};

struct footprint footprint_look(void);
