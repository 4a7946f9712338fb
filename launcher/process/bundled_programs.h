/* The programs that travel with ipu-launch into every job pod. They are one static file, which acts by the
 * name it is called by; the names are links to it. So five programs cost the room of one. */
#pragma once

#define BUNDLED_PROGRAMS_FILE "ipu-tools"
/* The same file under this name is what ipu-launch becomes where TLS is needed; nobody else calls it. */
#define BUNDLED_PROGRAMS_AGENT "ipu-agent"

/* BUNDLED_PROGRAMS(ROW) is ROW(name, main function) of each. */
#define BUNDLED_PROGRAMS(ROW)                                                                                \
    ROW("gc-info", gc_info_main)                                                                             \
    ROW("gc-monitor", gc_monitor_main)                                                                       \
    ROW("poprun", poprun_main)                                                                               \
    ROW("poprun_numa_wrapper", poprun_numa_wrapper_main)                                                     \
    ROW("vipu", vipu_main)
