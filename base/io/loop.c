#include "base/io/loop.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "base/core/mem.h"
#include "base/io/log.h"

/* libuv's handle outlives the owner's struct loop_timer: stopped handles wait in a list for the next start.
 */
struct loop_timer_handle {
    uv_timer_t uv;
    struct loop *loop;
    struct loop_timer *timer; /* NULL while parked */
    uint64_t round;           /* while soon: when it was started; else 0 */
    struct loop_timer_handle *prev, *next;
};

struct loop_signal {
    uv_signal_t uv;
    loop_signal_fn fn;
    void *ctx;
};

struct loop {
    uv_loop_t uv;
    uv_prepare_t turn;
    int64_t boot_offset_ms; /* CLOCK_BOOTTIME less libuv's clock; grows when the machine sleeps */
    uv_idle_t soon;         /* active while the list is not empty, so that the loop does not wait */
    uint64_t round;         /* of passes over that list */
    struct loop_timer_handle *soon_first, *soon_last;
    struct loop_timer_handle *free_handles;
    size_t running;
};

static int64_t clock_us(clockid_t clock)
{
    struct timespec now;
    int failed = clock_gettime(clock, &now);

    assert(!failed);
    (void)failed;
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t clock_ms(clockid_t clock)
{
    return clock_us(clock) / 1000;
}

int64_t loop_clock_us(void)
{
    return clock_us(CLOCK_BOOTTIME);
}

int64_t loop_clock_ms(void)
{
    return clock_ms(CLOCK_BOOTTIME);
}

int64_t loop_unix_micros(void)
{
    return clock_us(CLOCK_REALTIME);
}

void loop_random(void *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t got = getrandom((char *)bytes + done, count - done, 0);

        assert(got > 0 || errno == EINTR);
        done += got > 0 ? (size_t)got : 0;
    }
}

uint32_t loop_random_u32(void)
{
    uint32_t random;

    loop_random(&random, sizeof random);
    return random;
}

/* Reading two clocks one after the other jitters by a millisecond; only a sleeping machine moves the offset.
 */
static int64_t boot_offset(int64_t known)
{
    int64_t fresh = clock_ms(CLOCK_BOOTTIME) - clock_ms(CLOCK_MONOTONIC);

    return fresh > known + 2 || fresh < known - 2 ? fresh : known;
}

static void on_turn(uv_prepare_t *handle)
{
    struct loop *loop = CONTAINER_OF(handle, struct loop, turn);

    loop->boot_offset_ms = boot_offset(loop->boot_offset_ms);
}

int64_t loop_now_ms(const struct loop *loop)
{
    return (int64_t)uv_now(&loop->uv) + boot_offset(loop->boot_offset_ms);
}

/* Standard streams that the caller has closed: sockets and databases must not get their numbers, because
 * they would then receive the program's output. Writing to the replacement fails as before. */
static void occupy_standard_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

struct loop *loop_new(void)
{
    struct loop *loop = NEW(struct loop);

    occupy_standard_streams();
    /* A peer that closes its end is an error of one write, not the end of the program. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (uv_loop_init(&loop->uv) || uv_prepare_init(&loop->uv, &loop->turn) ||
        uv_prepare_start(&loop->turn, on_turn) || uv_idle_init(&loop->uv, &loop->soon)) {
        log_error("cannot create the event loop: out of file descriptors or memory");
        abort();
    }
    uv_unref((uv_handle_t *)&loop->turn);
    loop->round = 1;
    loop->boot_offset_ms = clock_ms(CLOCK_BOOTTIME) - clock_ms(CLOCK_MONOTONIC);
    return loop;
}

static void free_parked(uv_handle_t *handle)
{
    mem_free(CONTAINER_OF(handle, struct loop_timer_handle, uv));
}

static void free_signal(uv_handle_t *handle)
{
    mem_free(CONTAINER_OF(handle, struct loop_signal, uv));
}

static void close_signal(uv_handle_t *handle, void *ctx)
{
    (void)ctx;
    if (handle->type == UV_SIGNAL && !uv_is_closing(handle))
        uv_close(handle, free_signal);
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    assert(loop->running == 0); /* a running timer's owner would be called after its end */
    while (loop->free_handles) {
        struct loop_timer_handle *handle = loop->free_handles;
        loop->free_handles = handle->next;
        uv_close((uv_handle_t *)&handle->uv, free_parked);
    }
    uv_walk(&loop->uv, close_signal, NULL);
    uv_close((uv_handle_t *)&loop->turn, NULL);
    uv_close((uv_handle_t *)&loop->soon, NULL);
    while (
        uv_run(&loop->uv, UV_RUN_DEFAULT)) { /* a loop_stop outside of a run would end the next run early */
    }
    int busy = uv_loop_close(&loop->uv);
    assert(!busy);
    (void)busy;
    mem_free(loop);
}

void loop_run(struct loop *loop)
{
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *loop)
{
    uv_stop(&loop->uv);
}

struct uv_loop_s *loop_uv(struct loop *loop)
{
    return &loop->uv;
}

static struct loop_timer_handle *handle_get(struct loop *loop)
{
    struct loop_timer_handle *handle = loop->free_handles;

    if (handle) {
        loop->free_handles = handle->next;
        return handle;
    }
    handle = NEW(struct loop_timer_handle);
    handle->loop = loop;
    (void)uv_timer_init(&loop->uv, &handle->uv);
    return handle;
}

static void next_turn_remove(struct loop_timer_handle *handle)
{
    struct loop *loop = handle->loop;

    if (handle->prev)
        handle->prev->next = handle->next;
    else
        loop->soon_first = handle->next;
    if (handle->next)
        handle->next->prev = handle->prev;
    else
        loop->soon_last = handle->prev;
    handle->round = 0;
    if (!loop->soon_first)
        (void)uv_idle_stop(&loop->soon);
}

/* Undoes the setup of a start; the handle still belongs to its timer. */
static void timer_disarm(struct loop_timer_handle *handle)
{
    if (handle->round)
        next_turn_remove(handle);
    else
        (void)uv_timer_stop(&handle->uv);
}

/* Detaches the handle from its timer, so that the owner cannot be called any more. */
static void handle_recycle(struct loop_timer_handle *handle)
{
    timer_disarm(handle);
    handle->timer->handle = NULL;
    handle->timer = NULL;
    handle->next = handle->loop->free_handles;
    handle->loop->free_handles = handle;
    handle->loop->running--;
}

static void timer_fire(struct loop_timer_handle *handle)
{
    struct loop_timer *timer = handle->timer;

    assert(timer); /* only a parked handle has none */
    handle_recycle(handle);
    timer->fn(timer);
}

static void on_timer(uv_timer_t *uv)
{
    timer_fire(CONTAINER_OF(uv, struct loop_timer_handle, uv));
}

/* Timers started from here on belong to the next pass. */
static void on_soon(uv_idle_t *uv)
{
    struct loop *loop = CONTAINER_OF(uv, struct loop, soon);
    uint64_t round = loop->round++;

    while (loop->soon_first && loop->soon_first->round <= round)
        timer_fire(loop->soon_first);
}

static void next_turn_add(struct loop_timer_handle *handle)
{
    struct loop *loop = handle->loop;

    handle->round = loop->round;
    handle->next = NULL;
    handle->prev = loop->soon_last;
    if (loop->soon_last)
        loop->soon_last->next = handle;
    else
        loop->soon_first = handle;
    loop->soon_last = handle;
    (void)uv_idle_start(&loop->soon, on_soon);
}

void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t delay_ms, loop_timer_fn fn)
{
    if (timer->handle) {
        timer_disarm(timer->handle);
    } else {
        timer->handle = handle_get(loop);
        timer->handle->timer = timer;
        loop->running++;
    }
    timer->fn = fn;
    if (delay_ms > 0)
        (void)uv_timer_start(&timer->handle->uv, on_timer, (uint64_t)delay_ms, 0);
    else
        next_turn_add(timer->handle);
}

void loop_timer_stop(struct loop_timer *timer)
{
    if (timer->handle)
        handle_recycle(timer->handle);
}

bool loop_timer_is_running(const struct loop_timer *timer)
{
    return timer->handle != NULL;
}

static void on_signal(uv_signal_t *uv, int signum)
{
    struct loop_signal *sig = CONTAINER_OF(uv, struct loop_signal, uv);

    sig->fn(sig->ctx, signum);
}

void loop_on_signal(struct loop *loop, int signum, loop_signal_fn fn, void *ctx)
{
    struct loop_signal *sig = NEW(struct loop_signal);

    sig->fn = fn;
    sig->ctx = ctx;
    (void)uv_signal_init(&loop->uv, &sig->uv);
    int failed = uv_signal_start(&sig->uv, on_signal, signum);
    assert(!failed);
    (void)failed;
}
