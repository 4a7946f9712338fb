#include "fakes/loop.h"

#include <assert.h>

#include "base/core/mem.h"

struct loop {
    struct host *host;
    size_t running;
};

struct loop_timer_handle {
    struct loop *loop;
    struct loop_timer *timer;
    struct planned *planned;
};

struct loop *loop_new(void)
{
    struct loop *loop = NEW(struct loop);

    loop->host = clock_new_host();
    return loop;
}

void loop_free(struct loop *loop)
{
    assert(!loop || loop->running == 0); /* a running timer's owner would be called after its end */
    mem_free(loop);
}

struct host *loop_host(struct loop *loop)
{
    return loop->host;
}

int64_t loop_now_ms(const struct loop *loop)
{
    (void)loop;
    return clock_now_ms();
}

int64_t loop_clock_ms(void)
{
    return clock_read_ms();
}

int64_t loop_clock_us(void)
{
    return clock_now_ms() * 1000;
}

int64_t loop_unix_micros(void)
{
    return clock_unix_s() * 1000000 + clock_now_ms() % 1000 * 1000;
}

uint32_t loop_random_u32(void)
{
    return next_random();
}

void loop_random(void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)next_random();
}

static void park(struct loop_timer_handle *handle)
{
    handle->timer->handle = NULL;
    handle->loop->running--;
    mem_free(handle);
}

static void fire(void *ctx)
{
    struct loop_timer *timer = ((struct loop_timer_handle *)ctx)->timer;

    park(ctx);
    timer->fn(timer);
}

void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t delay_ms, loop_timer_fn fn)
{
    loop_timer_stop(timer);
    timer->fn = fn;
    timer->handle = NEW(struct loop_timer_handle);
    *timer->handle = (struct loop_timer_handle){.loop = loop, .timer = timer};
    timer->handle->planned = clock_plan_timer(delay_ms, loop->host, fire, timer->handle);
    loop->running++;
}

void loop_timer_stop(struct loop_timer *timer)
{
    if (!timer->handle)
        return;
    clock_cancel(timer->handle->planned);
    park(timer->handle);
}

bool loop_timer_is_running(const struct loop_timer *timer)
{
    return timer->handle != NULL;
}
