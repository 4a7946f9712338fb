/* The RDMA ports of this host as Linux lists them in a folder, and the network of the first active one, over
 * which the hosts of a Pod communicate. The ports themselves are not accessed. */
#pragma once

#include <netinet/in.h>

#include "base/core/str.h"
#include "launcher/poprun/log/run_log.h"

#define RNIC_FOLDER "/sys/class"

struct rnic_network {
    struct in_addr address, mask;
};

/* False if no port is active or has an IPv4 address. Other ports are logged. */
bool rnic_find_network(const char *folder, const struct run_log *log, struct rnic_network *ret);
/* Whether all hosts are given by addresses in it: the addresses of names on other hosts are unknown here. */
bool rnic_network_has(const struct rnic_network *network, const struct strv *hosts);
/* Such as "10.5.0.0/16"; the caller frees it. */
char *rnic_network_text(const struct rnic_network *network);
