/* Puts this program and its companions into a directory, from where a container with another image runs them.
 * Each appears whole or not at all, this program last, so that several that install at once, or one that is
 * killed, leave working programs. */
#pragma once

#include "base/core/err.h"

#define INSTALL_NAME "ipu-launch"

/* ERR_NOT_FOUND, ERR_DENIED, ERR_IO: says what to do about it. */
MUST_USE bool install_into(const char *dir, struct err *err);
