/* What the verbs of ipu-operator share that do one thing and end: options, help, a way to the API server, and
 * the exit status. A verb decides nothing about these, and runs on a loop and a client that are gone when it
 * returns.
 */
#pragma once

#include <stddef.h>

#include "base/core/opts.h"

struct kube;
struct loop;

enum { SUBCOMMAND_OK = 0, SUBCOMMAND_FAILED = 1, SUBCOMMAND_BAD_USAGE = 2 };

/* The way to the API server: the first member of every verb's settings, filled by SUBCOMMAND_ACCESS_ROWS. */
struct subcommand_access {
    char *kubeconfig, *context;
    const char *ns; /* where the operator itself is, as the way says: the pod's namespace, or the context's */
    const char *noun; /* set by the verb: what the one word is that it wants; NULL: it wants none */
    char *word;       /* owned; released by subcommand_main */
};

#define SUBCOMMAND_ACCESS_ROWS                                                                               \
    {.flag = "kubeconfig",                                                                                   \
     .type = OPT_STR,                                                                                        \
     .offset = offsetof(struct subcommand_access, kubeconfig),                                               \
     .arg = "FILE",                                                                                          \
     .help = "Kubeconfig file; default: service account of the pod, then KUBECONFIG, then ~/.kube/config"},  \
    {                                                                                                        \
        .flag = "context", .type = OPT_STR, .offset = offsetof(struct subcommand_access, context),           \
        .arg = "NAME", .help = "Context of the kubeconfig"                                                   \
    }

/* Does the verb's work on settings that the spec's rows have filled, and that are released afterwards;
 * returns the exit status. */
typedef int (*subcommand_fn)(void *settings, struct loop *loop, struct kube *kube);

/* argv[0] is the verb. `access` begins the settings. The exit status of the process. */
int subcommand_main(const struct opts_spec *spec, struct subcommand_access *access, subcommand_fn run,
                    int argc, char **argv, const char *(*env)(const char *));
