/* poprun_numa_wrapper stands before the program where mpirun alone cannot give an instance what it needs:
 * NUMA nodes, silence, a clean environment and nothing left behind on another host. These variables tell it
 * what to leave out or add; it takes them away. */
#pragma once

#define WRAPPER_PROGRAM "poprun_numa_wrapper"
#define WRAPPER_ENV_UNBOUND "POPRUN_WRAPPER_UNBOUND" /* "1": leave the CPUs as they are */
#define WRAPPER_ENV_QUIET "POPRUN_WRAPPER_QUIET"     /* "1": drop what the program prints */
#define WRAPPER_ENV_WATCH                                                                                    \
    "POPRUN_WRAPPER_WATCH" /* "1": see to it that nothing of the run stays on this host */
#define WRAPPER_ENV_CACHE                                                                                    \
    "POPRUN_WRAPPER_CACHE" /* "1": the executable cache is the run's own: make it, and remove it */
#define WRAPPER_ENV_DROP                                                                                     \
    "POPRUN_WRAPPER_DROP" /* names with commas between them: the host's own are not for this run */
