/* The parent device: the first one of its size that no program on this host is attached to. poprun attaches
 * only briefly, to check that it can; its instances attach to the children. */
#pragma once

#include "base/core/err.h"
#include "launcher/poprun/log/run_log.h"
#include "launcher/poprun/plan/partition.h"

/* Sets parent->first_id to that device. ERR_BUSY: all are taken; the message says by which programs and how
 * to list them. */
MUST_USE bool parent_device_acquire(const struct vipu_partition *partition,
                                    const char *(*env)(const char *name), const struct run_log *log,
                                    struct parent *parent, struct err *err);
