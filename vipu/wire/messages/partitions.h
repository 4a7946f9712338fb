/* Lists of partitions: the one reply that grows with the installation. It is decoded partition by partition,
 * so that only the result takes memory beside the bytes. Part of replies.h, whose rules apply. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/model/partition.h"

bool wire_put_partition(const struct vipu_partition *partition, struct str *out); /* appends one element */
/* The budget is for the result and what decoding needs beside it. */
MUST_USE bool wire_get_partitions(struct slice bytes, size_t budget, struct vipu_partitions *ret,
                                  struct err *err);
