/* Responses of the API server to the requests of a plan. */
#pragma once

#include "operator/reconcile/act/execution.h"

/* kube_done_fn; ctx is the struct request. */
void on_response(void *ctx, struct kube_response *res);
/* Response to a GET of the job: does a job with this uid still exist? */
void on_job_looked_up(void *ctx, struct kube_response *res);
