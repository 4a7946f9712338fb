/* Runs one shell line on a worker, through its agent, as ssh would on a host: standard streams are
 * forwarded, signals passed on, and the exit status is returned (128 + n after signal n; 255 if the worker
 * cannot be reached or is lost). Open MPI starts it in place of ssh. */
#pragma once

#include "base/core/err.h"
#include "launcher/env/envv.h"

#define REMOTE_EXIT_LOST 255 /* as ssh ends */

/* *ret is the exit status. Fails, before anything has been started, if the pod has no such worker. */
MUST_USE bool remote_run(const struct envv *env, const char *worker, const char *line, int *ret,
                         struct err *err);
