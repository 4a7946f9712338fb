/* Golden files: what a pure function printed once and somebody reviewed. tests/golden holds them; running a
 * test with UPDATE_GOLDEN=1 in the environment writes them anew, for the next review. */
#pragma once

#include "base/core/str.h"

/* The text of tests/golden/<name>; owned by the caller. The test fails when it cannot be read. */
char *golden_read(const char *name);
/* The text must be that of tests/golden/<name>. */
void golden_check(const char *name, const char *text);
