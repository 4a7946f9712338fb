/* The part of discovery that asks a controller. Used by discovery.c only. */
#pragma once

#include "vipu/tools/discovery/discovery.h"

MUST_USE bool discover_controller(const struct partition_source *source,
                                  const struct discovery_options *options, struct discovery *ret,
                                  struct err *err);
