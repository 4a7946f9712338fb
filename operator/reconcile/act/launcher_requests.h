/* The requests that only jobs with a launcher need: keys, network policy, launcher pod, and the ports of
 * their agents, which must differ between pods on one node. For act.c. */
#pragma once

#include "operator/reconcile/act/execution.h"

/* The port of the worker's agent in this run: allocated once, and read from its pod afterwards. */
uint16_t launch_port(struct reconciler *r, const struct job *job, const struct record *record,
                     uint32_t worker);
/* The launcher pod of the instance; NULL when a worker is missing, or with err. Caller frees. */
cJSON *launch_make_pod(const struct reconciler *r, const struct job *job, uint32_t instance,
                       const struct partition_placement *place, struct err *err);
/* A pod that differs from the real one in nothing that the API server checks. Caller frees. */
cJSON *launch_make_dry_run_pod(const struct reconciler *r, const struct job *job,
                               const struct partition_placement *place, struct err *err);
void launch_send_keys(struct execution *execution, struct op *op, const struct job *job);
void launch_send_policy(struct execution *execution, struct op *op, const struct job *job);
