#include "vipu/tools/gc-monitor/options.h"

#include <stddef.h>

#include "vipu/tools/program.h"

#define AT(field) .offset = offsetof(struct options, field)

static const struct opt rows[] = {
    {.flag = "no-card-info",
     .type = OPT_FLAG,
     AT(no_card_info),
     .help = "leave out the table of IPUs; only who is attached"},
    {.flag = "all-partitions",
     .letter = 'a',
     .type = OPT_FLAG,
     AT(all_partitions),
     .help = "every partition of the controller, not only the active one"},
    {.flag = "json",
     .letter = 'j',
     .type = OPT_FLAG,
     AT(json),
     .help = "print one JSON object instead of tables"},
    SOURCE_ROWS,
    PROGRAM_RUN_DIR_ROW(struct options),
    {0},
};

const struct opts_spec gc_monitor_spec = {
    .program = "gc-monitor",
    .usage = "gc-monitor [--no-card-info] [--all-partitions] [--json]",
    .about =
        "Shows the IPUs of the partition that the environment names, as gc-info finds it, and the programs "
        "of this host that are attached to them. Temperatures and power are shown of programs that read "
        "the sensors: start those with GCDA_MONITOR=1. The exit status is 0 for success, 1 when nothing can "
        "be told (no partition, no controller, the partition is in error), 2 for a wrong command line.",
    .rows = rows,
};
