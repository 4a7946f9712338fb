/* The part of discovery that reads IPUoF files. Used by discovery.c only. */
#pragma once

#include "vipu/tools/discovery/discovery.h"

MUST_USE bool discover_file(const char *path, struct discovery *ret, struct err *err);
MUST_USE bool discover_folders(const struct partition_source *source, const struct discovery_options *options,
                               struct discovery *ret, struct err *err);
