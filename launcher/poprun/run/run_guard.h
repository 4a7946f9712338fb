/* A run in a process of its own, the runner, with this one as its guard: if either of the two is killed, the
 * other ends what was started and removes what was created. The guard only passes signals on and waits, so
 * that it has little to fail. */
#pragma once

#include "base/core/err.h"

struct guarded_run {
    int (*run)(void *ctx);       /* in the runner; its exit status */
    void (*clean_up)(void *ctx); /* in the guard, when the runner was killed */
    void *ctx;
};

/* The exit status of the run. ERR_IO: a process could not be started. */
MUST_USE bool guard_run(const struct guarded_run *guarded_run, int *ret, struct err *err);
