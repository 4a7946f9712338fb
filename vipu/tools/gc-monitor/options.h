/* The options of gc-monitor: one table for flags, environment and help. */
#pragma once

#include "base/options/opts.h"
#include "vipu/tools/discovery/partition_source.h"

struct options {
    struct partition_source source;
    bool no_card_info;
    bool all_partitions;
    bool json;
    char *run_dir;
};

extern const struct opts_spec gc_monitor_spec;
