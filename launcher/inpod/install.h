/* Puts a copy of this program into a directory, from where a container with another image runs it. The copy
 * appears whole or not at all, so that two that install at once, or one that is killed, leave a working
 * program. */
#pragma once

#include "base/core/err.h"

#define INSTALL_NAME "ipu-launch"

/* ERR_NOT_FOUND, ERR_DENIED, ERR_IO: says what to do about it. */
MUST_USE bool install_into(const char *dir, struct err *err);
