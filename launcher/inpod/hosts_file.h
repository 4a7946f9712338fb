/* The hosts file of a worker with a launcher. The kubelet writes /etc/hosts when a pod starts, and workers do
 * not know each other's addresses then. So the init container copies it into a volume that is mounted there
 * instead, and mpirun's part on the worker adds the names of all workers. */
#pragma once

#include "base/core/err.h"
#include "launcher/env/workers.h"

/* A copy of the container's hosts file that any user may change. */
MUST_USE bool hosts_file_copy(const char *path, struct err *err);
/* Adds the workers to this pod's copy, if it has one. */
void hosts_file_add(const struct workers *workers);
