#include "launcher/poprun/options/dialect.h"

#include <stddef.h>
#include <string.h>

/* Version 4 is orterun; from 5 on mpirun starts prterun. Its "core" rejects more instances than cores,
 * whatever is allowed; its slots are cores too. */
static const struct mpi_dialect dialects[] = {
    {"orterun", "OMPI_MCA_plm_rsh_agent", "oob_tcp_if_include", "core", "", false, "ssh : rsh : false"},
    {NULL, "PRTE_MCA_plm_ssh_agent", "prte_if_include", "slot", ":oversubscribe", true, NULL},
};

const struct mpi_dialect *mpi_dialect_of(const char *program)
{
    const struct mpi_dialect *dialect = dialects;

    while (dialect->program && strcmp(dialect->program, program) != 0)
        dialect++;
    return dialect;
}
