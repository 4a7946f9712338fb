/* Lists of hosts in the format of --host, host files and Slurm: names or IPv4 addresses with ranges in
 * brackets, host[0-2,4] for host0, host1, host2 and host4; leading zeros are kept. Pure. Rejected are names
 * that could be taken for an option or for several words, hosts that occur twice, and more than HOSTS_MAX of
 * them. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"

#define HOSTS_MAX 4096u
/* Mistakes that are reported; the rest of the list is not read. */
#define HOSTS_PROBLEMS_MAX 10u

/* Both append: hosts, and a sentence for each invalid item. */
void hosts_read_list(const char *text, struct strv *hosts, struct strv *problems);
/* One host per line, with comments (#) and Open MPI's slots=N, which are ignored: instances are divided
 * evenly. */
void hosts_read_file(struct slice text, const char *name, struct strv *hosts, struct strv *problems);
/* Divides the hosts among instances: each host gets the same number of them, in blocks. With fewer instances
 * than hosts, the first hosts have one each, and the other hosts move to `unused`. ERR_INVALID: they cannot
 * be divided evenly. */
MUST_USE bool hosts_divide(struct strv *hosts, uint32_t instances, struct strv *unused, struct err *err);
