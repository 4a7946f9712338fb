/* Text from a container as a terminal may get it: colors (SGR) stay, other control sequences and characters
 * are dropped, and of a progress bar that goes back by "\r" the last state is kept. Pure. */
#pragma once

#include "base/core/str.h"

void terminal_add(struct str *out, struct slice line);
