#include "vipu/tools/gc-monitor/options.h"

#include <stddef.h>

#include "vipu/tools/program.h"

#define AT(field) offsetof(struct options, field)

static const struct opt rows[] = {
    OPT_SWITCH("no-card-info", AT(no_card_info), "show only attached processes, without the table of IPUs"),
    OPT_SWITCH("all-partitions", AT(all_partitions),
               "every partition of the controller, not only the active one", .letter = 'a'),
    OPT_SWITCH("json", AT(json), "print one JSON object instead of tables", .letter = 'j'),
    SOURCE_ROWS,
    PROGRAM_RUN_DIR_ROW(struct options),
    {0},
};

const struct opts_spec gc_monitor_spec = {
    .program = "gc-monitor",
    .usage = "gc-monitor [--no-card-info] [--all-partitions] [--json]",
    .about =
        "Shows the IPUs of the partition set in the environment (see gc-info) and the programs of this host "
        "that are attached to them. Temperatures and power are shown for programs that read the sensors: "
        "start them with GCDA_MONITOR=1. Exit status: 0 for success, 1 if the information is not available "
        "(no partition, no controller, partition in error), 2 for an invalid command line.",
    .rows = rows,
    .once = true,
};
