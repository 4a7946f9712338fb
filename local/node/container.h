/* One container: a command and all that descends from it, in the pod's sandbox. A supervisor process of its
 * own stands between this program and the command. When the command ends, or this program does (even by
 * SIGKILL), the supervisor ends every descendant, as the kernel does with a container's process namespace.
 *
 * Callbacks run from the loop. After on_ended the container does nothing more; it is freed by its owner. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "local/node/container_spec.h"

struct container;
struct loop;

struct container_end {
    int exit_code;      /* 128 + n after signal n, as container runtimes report it */
    bool is_oom_killed; /* the kernel has killed one of its processes, as memory had reached its limit */
    const char *error;  /* why it could not be started; NULL: it was */
};

struct container_events {
    void (*on_output)(void *ctx, bool is_error, const char *bytes, size_t len); /* len 0: no more follows */
    void (*on_probed)(void *ctx, bool is_good);
    void (*on_ended)(void *ctx, const struct container_end *end); /* all of its output has been delivered */
    void *ctx;
};

/* The spec is borrowed for the call. NULL: no process could be created. */
MUST_USE struct container *container_start(struct loop *loop, const struct container_spec *spec,
                                           const struct container_events *events, struct err *err);
void container_terminate(struct container *container); /* SIGTERM to the command */
void container_kill(struct container *container);      /* SIGKILL to all of it */
void container_probe(struct container *container);     /* unless a probe is running */
void container_free(struct container *container);      /* kills what still runs; accepts NULL */
