/* Lists of hosts as --host, host files and Slurm write them: names or IPv4 addresses with ranges in brackets,
 * host[0-2,4] for host0, host1, host2 and host4; leading zeros stay. Pure. It refuses what could be
 * taken for an option or for several words, hosts that are named twice, and more than HOSTS_MAX of them. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"

#define HOSTS_MAX 4096u

/* Both append. ERR_INVALID names the part that is wrong. */
MUST_USE bool hosts_read_list(const char *text, struct strv *hosts, struct err *err);
/* One host a line, with comments (#) and Open MPI's slots=N, which mean nothing here: instances are divided
 * evenly. */
MUST_USE bool hosts_read_file(struct slice text, const char *name, struct strv *hosts, struct err *err);
