/* What a run tells of itself, in the words that Graphcore's PopRun logs: each function is one step of it, in
 * this order. The text says what was decided; the deciding is elsewhere. Pure. */
#pragma once

#include "base/core/err.h"
#include "launcher/poprun/journal.h"
#include "launcher/poprun/partition.h"
#include "launcher/poprun/plan.h"

void story_address(const struct journal *journal, const char *host, uint32_t port);
void story_only_partition(const struct journal *journal, const char *id);
void story_connecting(const struct journal *journal, const char *host, uint32_t port);
void story_status(const struct journal *journal, const char *id);
void story_exists(const struct journal *journal, const struct vipu_partition *partition);
/* Ready to be used. */
void story_partition(const struct journal *journal, const struct vipu_partition *partition);
/* Which target options there are and which ones count; the text is yours. `partition` and `parent` may be
 * NULL. ERR_INVALID: those of the environment make no sense. */
MUST_USE bool story_targets(const struct journal *journal, const char *environment,
                            const struct vipu_partition *partition, const struct parent *parent,
                            uint32_t num_instances, char **ret, struct err *err);
void story_network(const struct journal *journal, const struct topology *topology, const char *network);
void story_command(const struct journal *journal, const struct plan *plan);
void story_waiting(const struct journal *journal, int64_t pid);
void story_end(const struct journal *journal, int64_t pid, int status);
