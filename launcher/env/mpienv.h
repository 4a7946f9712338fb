/* What makes plain `mpirun prog` and `poprun prog` work in a launcher pod: the host file, the agent in ssh's
 * place, and settings by which Open MPI finds dead links within seconds. Open MPI 4 and 5 (PRRTE) read
 * different names. Pure; what the user has set stays. */
#pragma once

#include "launcher/env/envv.h"

/* The network for traffic between the pods, as Open MPI writes it: 10.5.0.0/16 or eth0; absent: it chooses.
 */
#define MPIENV_ENV_NETWORK "IPU_JOB_NETWORK"

struct mpienv {
    const char *hostfile;
    const char *dir; /* where ipu-launch is */
    size_t hosts;
};

void mpienv_complete(struct envv *env, const struct mpienv *of);
