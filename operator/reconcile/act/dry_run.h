/* Asks the API server whether it would create the pods of a job, without creating any. */
#pragma once

#include "operator/reconcile/act/execution.h"

/* Of a worker; with op.worker, of the launcher; with op.ready, under a name that the API server generates. */
void dry_run_send(struct execution *execution, struct op *op, const struct job *job);
