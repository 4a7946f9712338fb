/* A random script of calls to a V-IPU controller, and what it answers: the same seed must print the same
 * against the simulator's controller and against vipu-server over gRPC. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct vipu_client;

struct vipu_script_options {
    struct vipu_client *client; /* of a controller without partitions */
    uint64_t seed;
    unsigned steps;
    void (*wait)(void *ctx, const bool *done); /* lets the world go on until *done */
    void (*on_half)(void *ctx);                /* half of the steps are done: faults may begin */
    void *ctx;
};

void vipu_script_run(const struct vipu_script_options *options);
