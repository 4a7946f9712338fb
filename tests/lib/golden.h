/* Golden files: reviewed output of pure functions. They are in tests/golden; running a test with
 * UPDATE_GOLDEN=1 in the environment writes them again, for the next review. */
#pragma once

#include "base/core/str.h"

/* The text of tests/golden/<name>; owned by the caller. The test fails if it cannot be read. */
char *golden_read(const char *name);
/* The text must be that of tests/golden/<name>. */
void golden_check(const char *name, const char *text);
