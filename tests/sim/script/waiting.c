#include "script/waiting.h"

#include "base/core/mem.h"

static void on_tick(struct loop_timer *timer)
{
    struct waiting *waiting = CONTAINER_OF(timer, struct waiting, tick);

    if (*waiting->done)
        loop_stop(waiting->loop);
    else
        loop_timer_start(waiting->loop, timer, 1, on_tick);
}

void wait_on_loop(void *ctx, const bool *done)
{
    struct waiting *waiting = ctx;

    waiting->done = done;
    loop_timer_start(waiting->loop, &waiting->tick, 1, on_tick);
    loop_run(waiting->loop);
}
