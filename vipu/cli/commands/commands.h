/* The commands of vipu: each calls the controller and appends its output. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "vipu/cli/args/grammar.h"
#include "vipu/cli/commands/context.h"

MUST_USE bool command_run(enum command_name name, struct command_context *c, struct err *err);
/* --server-version */
MUST_USE bool command_server_version(struct command_context *c, struct err *err);
