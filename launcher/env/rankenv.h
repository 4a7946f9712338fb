/* The environment of a process that mpirun starts: what torch.distributed and others read, from what Open MPI
 * tells each rank. A value of the user is kept. Pure. */
#pragma once

#include <stddef.h>

#include "base/core/err.h"
#include "launcher/env/envv.h"

/* Set for mpirun's part on a worker: mpirun has been asked for tags. */
#define RANKENV_ENV_TAGGED "IPU_JOB_TAGGED"

/* `master` is the address:port of the worker of rank 0, IPv6 in brackets; NULL: the operator has named none.
 * ERR_INVALID if it or the pod's shape is invalid. Without variables of Open MPI nothing is added. */
MUST_USE bool rankenv_complete(struct envv *env, const char *master, struct err *err);
const char *rankenv_port(const struct envv *env); /* for rank 0 to listen on, as the operator has chosen it */
/* The rank, if its lines need a tag: those of Open MPI 5, unless mpirun has been asked for tags. `words` are
 * mpirun's, each followed by a NUL. NULL: mpirun adds the tag, or the user wants none. */
const char *rankenv_tag(const struct envv *env, const char *words, size_t len);
bool rankenv_asks_for_tags(const char *words, size_t len); /* mpirun's */
bool rankenv_is_alone(const struct envv *env);             /* the only rank of its run */
