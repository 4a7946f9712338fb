/* The differences between versions of Open MPI that matter to poprun. Pure. */
#pragma once

#include <stdbool.h>

struct mpi_dialect {
    const char *program;        /* the program that mpirun links to; NULL: any other */
    const char *agent;          /* variable that names the remote agent */
    const char *control_subnet; /* option that takes the network of its own messages */
    const char *by_core;        /* --map-by policy for one core after the other */
    const char *place_more;     /* appended to such a policy: more instances than CPUs */
    bool rejects_twice;         /* placement options that the user has given too */
    const char *local_agent;    /* makes it start on this host although it has no ssh; NULL: it always does */
};

/* `program` is the file that mpirun's links lead to: running `mpirun --version` would take longer than
 * everything else. */
const struct mpi_dialect *mpi_dialect_of(const char *program);
