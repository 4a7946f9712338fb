/* Copies this program and its companions into a directory, from where a container with another image runs
 * them. Each file appears completely or not at all, this program last, so that working programs result even
 * if several install at once, or one is killed. */
#pragma once

#include "base/core/err.h"

#define INSTALL_NAME "ipu-launch"

/* ERR_NOT_FOUND, ERR_DENIED, ERR_IO: the message says what to do. */
MUST_USE bool install_into(const char *dir, struct err *err);
