/* The RDMA ports of this host as Linux lists them below a folder, and the network of the first active one:
 * hosts of a Pod talk to each other there. Nothing is asked of the ports themselves. */
#pragma once

#include <netinet/in.h>

#include "launcher/poprun/journal.h"

#define RNIC_FOLDER "/sys/class"

/* Such as "10.5.0.0/16"; yours. NULL when no port is active or has an IPv4 address. Other ports are told. */
char *rnic_network(const char *folder, const struct journal *journal);
/* The network of an address; yours. */
char *rnic_network_of(struct in_addr address, struct in_addr mask);
