/* The programs that ipu-launch installs into every job pod. They are one static file that selects a program
 * by the name it is called by; the names are links to it, so that five programs take the space of one. */
#pragma once

#define BUNDLED_PROGRAMS_FILE "ipu-tools"
/* ipu-launch executes the same file under this name if TLS is needed; it is not for users. */
#define BUNDLED_PROGRAMS_AGENT "ipu-agent"

/* BUNDLED_PROGRAMS(ROW) is ROW(name, main function) of each. */
#define BUNDLED_PROGRAMS(ROW)                                                                                \
    ROW("gc-info", gc_info_main)                                                                             \
    ROW("gc-monitor", gc_monitor_main)                                                                       \
    ROW("poprun", poprun_main)                                                                               \
    ROW("poprun_numa_wrapper", poprun_numa_wrapper_main)                                                     \
    ROW("vipu", vipu_main)
