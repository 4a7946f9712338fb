/* What must never happen, by the names of docs/ARCHITECTURE.md. Checked against the actual state (processes
 * on nodes, partitions at their controllers, the lease at the API server) and not against what an operator
 * has observed. The world reports every change here; records.h, programs.h, queue_order.h, outcome.h,
 * status_guarantees.h and progress.h check it. */
#pragma once

#include "world/world.h"

#define OWNED "1 (partitions with a record = partitions of live jobs; foreign ones untouched)"
#define NO_IPU_TWICE "2 (no IPU in two partitions, no pod on a partition that is not active)"
#define NONE_BLOCKED "3 (no job blocks another; a dead controller delays only its own jobs, never the lease)"
#define NOTHING_AGAIN "4 (what was done is not planned again; plans come to an end)"
#define AN_END "5 (every job reaches an end, or says what it waits for)"
#define ONLY_LEADER "6 (only the leader sends, and nothing of it reaches another job)"
#define READABLE "7 (a job's log is readable until its pods are deleted by policy)"
#define BAD_INPUT "8 (bad input changes nothing)"
#define NONE_PASSES "9 (nobody passes who is first in line for a controller)"
#define NO_IPU_SHARED "10 (no IPU is reached by programs that were not started together)"
#define WITHIN_QUOTA "11 (no namespace holds more IPUs than its quota)"
#define UNCHANGED "what the stores have is only read"
#define FORGOTTEN "memory follows what is known: what has gone is forgotten"

/* Each as it happens. */
void invariants_write_leaves(struct world *world, const struct host *host, const char *what);
void invariants_request(struct world *world, const struct api_request *request);
void invariants_vipu_write(struct world *world, const struct sim_vipu *side, const struct vipu_order *order);
void invariants_start(struct world *world, const struct node_process *process);
void invariants_change(struct world *world, enum api_change_type type, const struct api_object *object);
void invariants_pod_rejected(struct world *world, const cJSON *pod);
/* After each step. */
void invariants_step(struct world *world);
/* When nothing has happened for a while and nothing goes wrong any more. */
void invariants_at_rest(struct world *world);
/* job_cache_check.c: the same, of what the operators remember. */
void job_caches_at_rest(struct world *world);
