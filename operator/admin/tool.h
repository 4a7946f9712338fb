/* What the verbs of ipu-operator share that do one thing and end: options, help, a way to the API server, and
 * the exit status. A verb decides nothing about these, and runs on a loop and a client that are gone when it
 * returns.
 */
#pragma once

#include <stddef.h>

#include "base/core/opts.h"

struct kube;
struct loop;

enum { TOOL_DONE = 0, TOOL_REFUSED = 1, TOOL_BAD_USAGE = 2 };

/* The way to the API server: the first member of every verb's settings, filled by TOOL_ACCESS_ROWS. */
struct tool_access {
    char *kubeconfig, *context;
    const char *ns; /* where the operator itself is, as the way says: the pod's namespace, or the context's */
    const char *noun; /* set by the verb: what the one word is that it wants; NULL: it wants none */
    char *word;       /* owned; released by tool_main */
};

#define TOOL_ACCESS_ROWS                                                                                     \
    {.flag = "kubeconfig",                                                                                   \
     .type = OPT_STR,                                                                                        \
     .offset = offsetof(struct tool_access, kubeconfig),                                                     \
     .arg = "FILE",                                                                                          \
     .help = "How to reach the API server; default: as the operator does"},                                  \
    {                                                                                                        \
        .flag = "context", .type = OPT_STR, .offset = offsetof(struct tool_access, context), .arg = "NAME",  \
        .help = "Context of the kubeconfig"                                                                  \
    }

/* Does the verb's work on settings that the spec's rows have filled, and that are released afterwards;
 * returns the exit status. */
typedef int (*tool_fn)(void *settings, struct loop *loop, struct kube *kube);

/* argv[0] is the verb. `access` begins the settings. The exit status of the process. */
int tool_main(const struct opts_spec *spec, struct tool_access *access, tool_fn run, int argc, char **argv,
              const char *(*env)(const char *));
