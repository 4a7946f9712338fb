/* What the verbs of ipu-operator share that do one thing and end: options, help, a way to the API server, and
 * the exit status. A verb decides nothing about these, and runs on a loop and a client that are gone when it
 * returns.
 */
#pragma once

struct kube;
struct loop;
struct opts_spec;

enum { TOOL_DONE = 0, TOOL_REFUSED = 1, TOOL_BAD_USAGE = 2 };

struct tool {
    const struct opts_spec *spec;
    void *settings;                           /* filled by the spec's rows, released afterwards */
    char *const *kubeconfig, *const *context; /* in the settings */
    int (*run)(void *settings, struct loop *loop, struct kube *kube); /* the exit status */
};

/* argv[0] is the verb. The exit status of the process. */
int tool_main(const struct tool *tool, int argc, char **argv, const char *(*env)(const char *));
