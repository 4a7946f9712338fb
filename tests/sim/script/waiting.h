/* Lets a real loop turn until something is done: what a script's `wait` is against a real peer. */
#pragma once

#include <stdbool.h>

#include "base/io/loop.h"

struct waiting {
    struct loop *loop;
    struct loop_timer tick;
    const bool *done;
};

void wait_on_loop(void *waiting, const bool *done);
