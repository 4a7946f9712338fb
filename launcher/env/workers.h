/* The workers of a launcher pod's instance: name=address:port, in their numeric order, separated by commas.
 * IPv6 addresses are in brackets. Names are not resolved. Pure. */
#pragma once

#include <netinet/in.h>

#include "base/core/err.h"
#include "base/core/str.h"

#define WORKERS_ENV_HOSTS "IPU_JOB_HOSTS"
#define WORKERS_ENV_SLOTS "IPU_JOB_SLOTS" /* processes that mpirun may start on each; default 1 */

/* The same, from a launcher to mpirun's part on a worker, which is no launcher pod. */
#define WORKERS_ENV_PEERS "IPU_JOB_PEERS"

#define WORKERS_MAX 65536u
#define WORKERS_SLOTS_MAX 65536u

struct worker {
    char *name;
    uint32_t index;
    struct sockaddr_storage address;
    socklen_t address_len;
};

struct workers {
    struct worker *items;
    size_t count, cap;
};

/* ERR_INVALID names the invalid entry. */
MUST_USE bool workers_read(const char *text, struct workers *ret, struct err *err);
void workers_release(struct workers *workers);

static inline void workers_auto(struct workers *workers)
{
    workers_release(workers);
}

const struct worker *workers_find(const struct workers *workers, const char *name); /* NULL: there is none */
/* Its address without the port. */
void workers_print_address(const struct worker *worker, struct str *out);
/* A hosts file with the workers after its other lines; those of an earlier run are replaced. */
void workers_print_hosts(const struct workers *workers, const char *before, struct str *out);
/* The lines of Open MPI's host file. */
void workers_print_hostfile(const struct workers *workers, uint32_t slots, struct str *out);
