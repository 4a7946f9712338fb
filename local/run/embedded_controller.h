/* The simulated V-IPU controller of a run: vipu-server's own code, on a port of its own of the loopback
 * device. Every user of the machine can connect to that, so that it is in secure mode: the run has a key of
 * its own, and each pod that of its partition. Without TLS, as only root can read what passes there. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"

struct loop;
struct run_dir;
struct server;

#define EMBEDDED_CONTROLLER_IPUS_MAX 4096u

/* ipus: a multiple of 4, and above 64 of 64. Its partitions are in a file of the run. */
MUST_USE struct server *embedded_controller_start(struct loop *loop, uint32_t ipus, const struct run_dir *dir,
                                                  struct err *err);
