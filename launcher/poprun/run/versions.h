/* The output of --version, in its three formats. Pure; appends to `out`. */
#pragma once

#include "base/core/str.h"
#include "launcher/poprun/options/options.h"

void versions_print(enum version_format format, struct str *out);
