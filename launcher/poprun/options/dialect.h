/* What differs between versions of Open MPI, as far as poprun has to say it. Pure. */
#pragma once

#include <stdbool.h>

struct mpi_dialect {
    const char *program;        /* what mpirun is, links followed; NULL: any other */
    const char *agent;          /* variable that names the remote agent */
    const char *control_subnet; /* option that takes the network of its own messages */
    const char *by_core;        /* --map-by policy for one core after the other */
    const char *place_more;     /* after such a policy: more instances than CPUs */
    bool refuses_twice;         /* placement options that the user has given too */
    const char *local_agent;    /* lets it start on this host though that has no ssh; NULL: it does so */
};

/* `program` is the name of the file that mpirun's links lead to: asking mpirun itself would take longer than
 * all the rest. */
const struct mpi_dialect *mpi_dialect_of(const char *program);
