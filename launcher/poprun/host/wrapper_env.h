/* poprun_numa_wrapper runs before the program if mpirun alone cannot give an instance what it needs: NUMA
 * nodes, discarded output, a clean environment, cleanup on another host, a command that is longer than the
 * system allows, the exit status of a shell for a program that is missing. These variables tell it what to
 * do; it removes them from the environment. */
#pragma once

#define WRAPPER_PROGRAM "poprun_numa_wrapper"
#define WRAPPER_ENV_UNBOUND "POPRUN_WRAPPER_UNBOUND" /* "1": do not bind CPUs */
#define WRAPPER_ENV_QUIET "POPRUN_WRAPPER_QUIET"     /* "1": discard the program's output */
#define WRAPPER_ENV_WATCH                                                                                    \
    "POPRUN_WRAPPER_WATCH" /* "1": make sure that nothing of the run stays on this host */
#define WRAPPER_ENV_CACHE                                                                                    \
    "POPRUN_WRAPPER_CACHE" /* "1": the executable cache belongs to the run: create it, and remove it */
#define WRAPPER_ENV_DROP                                                                                     \
    "POPRUN_WRAPPER_DROP" /* names separated by commas: variables of the host that this run must not see */
/* With an application file: what all instances have in common, as word lists (plan/word_list.h). */
#define WRAPPER_ENV_SHARED "POPRUN_WRAPPER_SHARED"   /* NAME=value: variables to set */
#define WRAPPER_ENV_PROGRAM "POPRUN_WRAPPER_PROGRAM" /* the program and its arguments */
