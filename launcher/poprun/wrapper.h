/* poprun_numa_wrapper stands before the program where mpirun alone cannot give an instance what it needs:
 * NUMA nodes, silence, a clean environment on another host. These variables tell it what to leave out or add;
 * it takes them away. */
#pragma once

#define WRAPPER_PROGRAM "poprun_numa_wrapper"
#define WRAPPER_ENV_UNBOUND "POPRUN_WRAPPER_UNBOUND" /* "1": leave the CPUs as they are */
#define WRAPPER_ENV_QUIET "POPRUN_WRAPPER_QUIET"     /* "1": drop what the program prints */
