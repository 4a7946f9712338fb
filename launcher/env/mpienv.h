/* What makes plain `mpirun prog` and `poprun prog` work in a launcher pod: the host file, the agent in place
 * of ssh, and settings that make Open MPI detect dead connections within seconds. Open MPI 4 and 5 (PRRTE)
 * read different names. Pure; the user's settings are kept. */
#pragma once

#include "launcher/env/envv.h"

/* The network for traffic between the pods, in Open MPI's format: 10.5.0.0/16 or eth0; absent: Open MPI
 * chooses. */
#define MPIENV_ENV_NETWORK "IPU_JOB_NETWORK"

struct mpienv {
    const char *hostfile;
    const char *dir; /* the folder of ipu-launch */
    size_t hosts;
};

void mpienv_complete(struct envv *env, const struct mpienv *of);
