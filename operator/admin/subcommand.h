/* Common part of the subcommands of ipu-operator: options, help, the connection to the API server, and the
 * exit status. A subcommand runs on a loop and a client that are freed when it returns. */
#pragma once

#include <stddef.h>

#include "base/options/opts.h"

struct kube;
struct loop;

enum { SUBCOMMAND_OK = 0, SUBCOMMAND_FAILED = 1, SUBCOMMAND_BAD_USAGE = 2 };

/* Connection settings: the first member of every subcommand's settings, filled by SUBCOMMAND_ACCESS_ROWS. */
struct subcommand_access {
    char *kubeconfig, *context;
    const char *ns;   /* namespace of the pod or of the context */
    const char *noun; /* set by the subcommand: name of its argument; NULL: it has none */
    char *word;       /* owned; released by subcommand_main */
};

#define SUBCOMMAND_ACCESS_ROWS                                                                               \
    OPT_VALUE("kubeconfig", OPT_STR, offsetof(struct subcommand_access, kubeconfig), "FILE",                 \
              "Kubeconfig file; default: service account of the pod, then KUBECONFIG, then ~/.kube/config"), \
        OPT_VALUE("context", OPT_STR, offsetof(struct subcommand_access, context), "NAME",                   \
                  "Context of the kubeconfig")

/* Runs the subcommand on settings that the spec's rows have filled, and that are released afterwards;
 * returns the exit status. */
typedef int (*subcommand_fn)(void *settings, struct loop *loop, struct kube *kube);

/* argv[0] is the command. `access` begins the settings. Returns the exit status of the process. */
int subcommand_main(const struct opts_spec *spec, struct subcommand_access *access, subcommand_fn run,
                    int argc, char **argv, const char *(*env)(const char *));
