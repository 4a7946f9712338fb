/* The help text and the manual page of vipu, from its tables of commands and options. Pure; appends to `out`.
 */
#pragma once

#include "base/core/str.h"

void help_text(struct str *out);
void help_man(struct str *out);
