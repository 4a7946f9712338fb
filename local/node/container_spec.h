/* What a container runs. */
#pragma once

struct sandbox;

struct container_spec {
    char *const *argv;
    char *const *envp;
    const char *cwd;
    const struct sandbox *sandbox;
    char *const *probe; /* a command that container_probe runs beside it; NULL: none */
};
