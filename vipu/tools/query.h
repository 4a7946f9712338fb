/* The queries about the devices of the active partition, and their results. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/tools/discovery/discovery.h"

#define QUERY_MAX_DEVICE (2 * GCD_VIEW_MAX_IPUS)

enum query_kind {
    QUERY_LIST,
    QUERY_ATTRIBUTES,
    QUERY_CHIP_IDS,
    QUERY_TILES,
    QUERY_COUNT,
    QUERY_ARCHITECTURE,
    QUERY_CLOCK,
    QUERY_KINDS,
};

struct query {
    enum query_kind kind;
    bool all_partitions;
    bool has_device; /* without one: the whole domain */
    uint32_t device;
};

bool query_needs_device(enum query_kind kind);
bool query_needs_attributes(enum query_kind kind); /* those that only a controller has */

/* Appends the result to `out`; false with a sentence if there is none. Even then `out` is to be printed: a
 * listing without devices is how users see a partition in error. `folder` has the locks. */
MUST_USE bool query_answer(const struct query *query, const struct discovery *found, const char *folder,
                           struct str *out, struct err *err);
