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
    const char *dir;    /* the folder of ipu-launch */
    const char *master; /* address:port for the ranks: see mpienv_complete_ranks */
    size_t hosts;
};

void mpienv_complete(struct envv *env, const struct mpienv *of);
/* Makes mpirun start each rank through `ipu-launch rank` in `dir`. `master` is the address:port for the
 * ranks, or NULL (launcher/env/rankenv.h). */
void mpienv_complete_ranks(struct envv *env, const char *dir, const char *master);
