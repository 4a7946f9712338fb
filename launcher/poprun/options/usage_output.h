/* What poprun says of itself, all from option_rows: --help, the manual page, the shells' completion. Pure;
 * all append to `out`. */
#pragma once

#include <stdbool.h>

#include "base/core/str.h"

void usage_help(struct str *out);
void usage_man(struct str *out);
/* shell: "bash", "zsh" or "fish"; false for any other. */
bool usage_completion(const char *shell, struct str *out);
