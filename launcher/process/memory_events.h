/* What the kernel counts about the memory of this process's control group, in a container that of all its
 * processes: cgroup v2's memory.events, v1's memory.oom_control. */
#pragma once

#include <stdint.h>

/* How many processes the kernel has killed so far because memory ran out. 0 if the kernel does not tell.
 * root: "", or the folder in which a test keeps its own /proc and /sys. */
uint32_t memory_events_oom_kills(const char *root);
/* How many since it was `before`. */
uint32_t memory_events_oom_kills_since(const char *root, uint32_t before);
