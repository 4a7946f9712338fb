/* A random script of operations on an API server, and what it answers, in words that do not depend on which
 * server it is: the same seed must print the same against the simulator's and against a real one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct kube;

/* Lets the world go on until *done. */
typedef void (*script_wait_fn)(void *ctx, const bool *done);

struct script_options {
    struct kube *kube;
    const char *ns; /* exists, and is empty */
    uint64_t seed;
    unsigned steps;
    script_wait_fn wait;
    void *ctx;
};

void script_run(const struct script_options *options);
