/* --help, the manual page and shell completion, generated from option_rows. Pure; all append to `out`. */
#pragma once

#include <stdbool.h>

#include "base/core/str.h"

void usage_help(struct str *out);
void usage_man(struct str *out);
/* shell: "bash", "zsh" or "fish"; false for any other. */
bool usage_completion(const char *shell, struct str *out);
