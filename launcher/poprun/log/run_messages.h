/* The log messages of a run, in the words of Graphcore's PopRun: each function is one step of it, in this
 * order. They report decisions that are made elsewhere. Pure. */
#pragma once

#include "base/core/err.h"
#include "launcher/poprun/log/run_log.h"
#include "launcher/poprun/plan/partition.h"
#include "launcher/poprun/plan/plan.h"

/* Only if there are more hosts than instances. */
void run_message_hosts(const struct run_log *log, const struct strv *used, const struct strv *unused);
/* Only if more IPU-Link domains are asked for than the run can span. */
void run_message_ilds(const struct run_log *log, const struct poprun_options *options);
void run_message_address(const struct run_log *log, const char *host, uint32_t port);
void run_message_only_partition(const struct run_log *log, const char *id);
void run_message_connecting(const struct run_log *log, const char *host, uint32_t port);
void run_message_status(const struct run_log *log, const char *id);
void run_message_exists(const struct run_log *log, const struct vipu_partition *partition);
/* Ready to use. */
void run_message_partition(const struct run_log *log, const struct vipu_partition *partition);
/* Which target options are set and which ones apply; the caller frees the text. `partition` and `parent` may
 * be NULL. ERR_INVALID: those of the environment are invalid. */
MUST_USE bool run_message_targets(const struct run_log *log, const char *environment,
                                  const struct vipu_partition *partition, const struct parent *parent,
                                  uint32_t num_instances, char **ret, struct err *err);
void run_message_network(const struct run_log *log, const struct topology *topology, const char *network);
void run_message_command(const struct run_log *log, const struct plan *plan);
void run_message_waiting(const struct run_log *log, int64_t pid);
void run_message_end(const struct run_log *log, int64_t pid, int status);
