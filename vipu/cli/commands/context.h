/* What every command gets: the parsed command line, the controller, and where its output goes. */
#pragma once

#include <stdint.h>

#include "base/core/str.h"
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
