/* The commands of vipu: each calls the controller and appends its output. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/cli/args/grammar.h"
#include "vipu/cli/args/options.h"
#include "vipu/cli/commands/requirements.h"
#include "vipu/client/sync_client.h"

struct command_context {
    const struct options *options;
    const char *id;                               /* the third word, or NULL */
    const char *home;                             /* the user's directory, or NULL */
    const struct vipu_requirements *requirements; /* of create */
    int64_t index;                                /* of create; -1: any place */
    int64_t gcd;                                  /* of get partition; -1: all */
    struct vipu_sync_client *client;
    struct str *out;
    struct strv *remarks; /* sentences for the user, beside the output */
    struct str *failure;  /* printed instead of err if it is longer than err can be */
};

MUST_USE bool command_run(enum command_name name, struct command_context *c, struct err *err);
/* --server-version */
MUST_USE bool command_server_version(struct command_context *c, struct err *err);
