/* The simulated V-IPU controller of a run: vipu-server's own code, on a port of its own of the loopback
 * device. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"

struct loop;
struct server;

#define EMBEDDED_CONTROLLER_IPUS_MAX 4096u

/* ipus: a multiple of 4, and above 64 of 64. Its partitions are in a file in `dir`. */
MUST_USE struct server *embedded_controller_start(struct loop *loop, uint32_t ipus, const char *dir,
                                                  struct err *err);
