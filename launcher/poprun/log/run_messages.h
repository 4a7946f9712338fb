/* What a run tells of itself, in the words that Graphcore's PopRun logs: each function is one step of it, in
 * this order. The text says what was decided; the deciding is elsewhere. Pure. */
#pragma once

#include "base/core/err.h"
#include "launcher/poprun/log/run_log.h"
#include "launcher/poprun/plan/partition.h"
#include "launcher/poprun/plan/plan.h"

void run_message_address(const struct run_log *run_log, const char *host, uint32_t port);
void run_message_only_partition(const struct run_log *run_log, const char *id);
void run_message_connecting(const struct run_log *run_log, const char *host, uint32_t port);
void run_message_status(const struct run_log *run_log, const char *id);
void run_message_exists(const struct run_log *run_log, const struct vipu_partition *partition);
/* Ready to be used. */
void run_message_partition(const struct run_log *run_log, const struct vipu_partition *partition);
/* Which target options there are and which ones count; the text is yours. `partition` and `parent` may be
 * NULL. ERR_INVALID: those of the environment make no sense. */
MUST_USE bool run_message_targets(const struct run_log *run_log, const char *environment,
                                  const struct vipu_partition *partition, const struct parent *parent,
                                  uint32_t num_instances, char **ret, struct err *err);
void run_message_network(const struct run_log *run_log, const struct topology *topology, const char *network);
void run_message_command(const struct run_log *run_log, const struct plan *plan);
void run_message_waiting(const struct run_log *run_log, int64_t pid);
void run_message_end(const struct run_log *run_log, int64_t pid, int status);
