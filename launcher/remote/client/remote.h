/* Runs one shell line on a worker, through its agent, as ssh would on a host: standard streams are carried,
 * signals passed on, and the exit status comes back (128 + n after signal n; 255 when the worker cannot be
 * reached or is lost). It is what Open MPI starts instead of ssh. */
#pragma once

#include "base/core/err.h"
#include "launcher/env/envv.h"

#define REMOTE_EXIT_LOST 255 /* as ssh ends */

/* *ret is the exit status. Fails, before anything has been started, when the pod has no such worker. */
MUST_USE bool remote_run(const struct envv *env, const char *worker, const char *line, int *ret,
                         struct err *err);
