/* The options of gc-info: one table for flags, environment and help. */
#pragma once

#include "base/options/opts.h"
#include "vipu/tools/discovery/partition_source.h"
#include "vipu/tools/query.h"

struct options {
    struct partition_source source;
    bool commands[QUERY_KINDS]; /* by enum query_kind */
    char *device;
    bool all_partitions;
    char *run_dir;
};

extern const struct opts_spec gc_info_spec;

/* The query that the options describe. False with a sentence for each mistake. */
bool options_query(const struct options *options, struct query *ret, struct strv *problems);
