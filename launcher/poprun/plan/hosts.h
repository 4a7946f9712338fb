/* Lists of hosts as --host, host files and Slurm write them: names or IPv4 addresses with ranges in brackets,
 * host[0-2,4] for host0, host1, host2 and host4; leading zeros stay. Pure. It refuses what could be
 * taken for an option or for several words, hosts that are named twice, and more than HOSTS_MAX of them. */
#pragma once

#include "base/core/str.h"

#define HOSTS_MAX 4096u
/* So many mistakes are told; what comes after them is not read. */
#define HOSTS_PROBLEMS_MAX 10u

/* Both append: hosts, and a sentence for each part that is wrong. */
void hosts_read_list(const char *text, struct strv *hosts, struct strv *problems);
/* One host a line, with comments (#) and Open MPI's slots=N, which mean nothing here: instances are divided
 * evenly. */
void hosts_read_file(struct slice text, const char *name, struct strv *hosts, struct strv *problems);
