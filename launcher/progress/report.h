/* `ipu-launch progress`: reports the progress of the program to the operator. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"

/* words: those after the verb, ended by NULL. */
MUST_USE bool progress_report_send(char *const *words, struct err *err);
