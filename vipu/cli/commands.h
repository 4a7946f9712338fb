/* The commands of vipu. Each asks the controller and appends what is to be printed. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/cli/options.h"
#include "vipu/client/session.h"

struct command_context {
    const struct options *options;
    const char *id;   /* of the partition, for those that need one */
    const char *home; /* the user's directory, or NULL */
    struct session *session;
    struct str *out;
    struct strv *problems; /* a wrong command line: sentences */
    struct str *failure;   /* what to print instead of err, when it is longer than err can be */
};

/* False with err, or with problems. */
typedef bool (*command_fn)(struct command_context *c, struct err *err);

struct command {
    const char *verb;
    const char *kind;
    bool needs_id;
    command_fn fn;
};

/* The command that the words name; NULL with a problem when there is none or words are missing or too many.
 */
const struct command *command_find(const struct strv *words, struct strv *problems);
/* --server-version */
bool command_server_version(struct command_context *c, struct err *err);
