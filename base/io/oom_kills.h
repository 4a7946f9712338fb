/* How many processes of a control group the kernel has killed because memory ran out: the line "oom_kill N"
 * of cgroup v2's memory.events and of v1's memory.oom_control (cgroups(7)). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool oom_kills_read(const char *path, uint32_t *ret);
