/* The control group of a container with a limit of memory, as a kubelet makes one (cgroups(7), version 1 or
 * 2). Root can make one, and so can a user whom systemd delegates memory to, as it does to the sessions of
 * users. A limit of the kernel for one process (setrlimit(2)) is no substitute: it counts what is reserved,
 * such as the stacks of threads, so that programs would fail here that run in a cluster. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct memory_group {
    char *dir; /* NULL: there is none */
    const struct memory_group_version *version;
    int processes; /* what adds a process to it */
};

/* Without a group, if none can be made. Named after this process, which makes no other. */
void memory_group_make(struct memory_group *ret, uint64_t bytes);
void memory_group_join(const struct memory_group *group); /* this process, and those it starts */
/* Removes the group, whose processes have ended. True: the kernel has killed one for want of memory. */
bool memory_group_remove(struct memory_group *group);
