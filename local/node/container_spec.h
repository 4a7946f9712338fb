/* What a container runs. */
#pragma once

#include <stdint.h>

struct sandbox;

struct container_spec {
    char *const *argv;
    char *const *envp;
    const char *cwd;
    const struct sandbox *sandbox; /* NULL: the command has one of its own */
    uint64_t memory_bytes;         /* limit of all its processes; 0: none */
    char *const *probe;            /* a command that container_probe runs beside it; NULL: none */
    char *const *remove; /* a command that ends what the supervisor cannot reach; NULL: it reaches all */
};
