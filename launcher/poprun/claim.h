/* The parent device: the first one of its size that nobody on this host is attached to. poprun attaches for a
 * moment only, to see that it can; its instances attach to the children. */
#pragma once

#include "base/core/err.h"
#include "launcher/poprun/journal.h"
#include "launcher/poprun/partition.h"

/* Moves parent->first_id on to that device. ERR_BUSY: all are taken; the message says by whom and how to see
 * it. */
MUST_USE bool claim_parent(const struct vipu_partition *partition, const char *(*env)(const char *name),
                           const struct journal *journal, struct parent *parent, struct err *err);
