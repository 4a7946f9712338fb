#include "local/node/container.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/io/loop.h"
#include "local/node/supervisor.h"

#define BLOCK_BYTES 65536

/* What comes from the container's processes: two streams of output, and the supervisor's reports. */
enum { STREAM_OUT, STREAM_ERR, STREAM_REPORTS, STREAMS };

struct stream {
    uv_poll_t poll;
    struct container *container;
    int fd;
};

struct container {
    struct container_events events;
    struct stream *streams[STREAMS]; /* NULL: ended; freed when libuv has let go of them */
    pid_t supervisor;
    struct str reports;
    bool has_ended;
};

static void stream_free(uv_handle_t *handle)
{
    struct stream *stream = CONTAINER_OF(handle, struct stream, poll);

    close(stream->fd);
    mem_free(stream);
}

static void stream_close(struct container *container, int which)
{
    struct stream *stream = TAKE(container->streams[which]);

    if (stream)
        uv_close((uv_handle_t *)&stream->poll, stream_free);
}

/* ---- reports ---- */

static void tell_end(struct container *container)
{
    struct container_end end = {.exit_code = 128 + SIGKILL};
    const char *text = str_text(&container->reports);

    if (text[0] == REPORT_FAILED)
        end = (struct container_end){.exit_code = 128, .error = text + 1};
    else if ((text[0] == REPORT_ENDED || text[0] == REPORT_OOM_KILLED) &&
             container->reports.len >= 1 + sizeof(int))
        memcpy(&end.exit_code, text + 1, sizeof(int));
    end.is_oom_killed = text[0] == REPORT_OOM_KILLED;
    container->has_ended = true;
    (void)waitpid(container->supervisor, NULL, 0);
    container->supervisor = 0;
    container->events.on_ended(container->events.ctx, &end);
}

/* Takes probes' results out; the last report stays. */
static void read_reports(struct container *container)
{
    const size_t size = 1 + sizeof(int);
    int status;

    while (container->reports.len >= size && *str_text(&container->reports) == REPORT_PROBED) {
        memcpy(&status, str_text(&container->reports) + 1, sizeof(int));
        str_drop(&container->reports, size);
        container->events.on_probed(container->events.ctx, status == 0);
    }
}

/* ---- streams ---- */

static void on_bytes(struct container *container, int which, const char *bytes, size_t len)
{
    if (which != STREAM_REPORTS) {
        container->events.on_output(container->events.ctx, which == STREAM_ERR, bytes, len);
        return;
    }
    str_add(&container->reports, bytes, len);
    read_reports(container);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    static char block[BLOCK_BYTES];
    struct stream *stream = CONTAINER_OF(poll, struct stream, poll);
    struct container *container = stream->container;
    int which = 0;
    ssize_t got;

    (void)events;
    /* libuv stops watching at an error, such as a supervisor that ended without reading its last order, and
     * what that has reported is still there. */
    if (status < 0)
        (void)uv_poll_start(poll, UV_READABLE, on_readable);
    while (container->streams[which] != stream)
        which++;
    got = read(stream->fd, block, sizeof(block));
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0) {
        on_bytes(container, which, block, (size_t)got);
        return;
    }
    stream_close(container, which);
    if (which != STREAM_REPORTS)
        container->events.on_output(container->events.ctx, which == STREAM_ERR, NULL, 0);
    for (int i = 0; i < STREAMS; i++)
        if (container->streams[i])
            return;
    tell_end(container);
}

static void stream_open(struct container *container, struct loop *loop, int which, int fd)
{
    struct stream *stream = NEW(struct stream);

    *stream = (struct stream){.container = container, .fd = fd};
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    (void)uv_poll_init(loop_uv(loop), &stream->poll, fd);
    (void)uv_poll_start(&stream->poll, UV_READABLE, on_readable);
    container->streams[which] = stream;
}

/* ---- starting ---- */

static void close_pairs(int pairs[STREAMS][2])
{
    for (int i = 0; i < STREAMS; i++)
        for (int side = 0; side < 2; side++)
            if (pairs[i][side] >= 0)
                close(pairs[i][side]);
}

static bool open_pairs(int pairs[STREAMS][2])
{
    return pipe2(pairs[STREAM_OUT], O_CLOEXEC) == 0 && pipe2(pairs[STREAM_ERR], O_CLOEXEC) == 0 &&
           socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[STREAM_REPORTS]) == 0;
}

struct container *container_start(struct loop *loop, const struct container_spec *spec,
                                  const struct container_events *events, struct err *err)
{
    int pairs[STREAMS][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    struct container *container;
    pid_t pid = -1;

    if (open_pairs(pairs))
        pid = fork();
    if (pid == 0)
        supervisor_run(spec, pairs[STREAM_REPORTS][1], pairs[STREAM_OUT][1], pairs[STREAM_ERR][1]);
    if (pid < 0) {
        err_errno(err, errno, "cannot create a process");
        close_pairs(pairs);
        return NULL;
    }
    container = NEW(struct container);
    container->events = *events;
    container->supervisor = pid;
    for (int i = 0; i < STREAMS; i++) {
        close(pairs[i][1]);
        stream_open(container, loop, i, pairs[i][0]);
    }
    return container;
}

static void order(struct container *container, char what)
{
    if (container->streams[STREAM_REPORTS])
        (void)send(container->streams[STREAM_REPORTS]->fd, &what, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void container_terminate(struct container *container)
{
    order(container, ORDER_TERMINATE);
}

void container_kill(struct container *container)
{
    order(container, ORDER_KILL);
}

void container_probe(struct container *container)
{
    order(container, ORDER_PROBE);
}

void container_free(struct container *container)
{
    if (!container)
        return;
    if (container->streams[STREAM_REPORTS]) /* the supervisor ends what it has started */
        (void)shutdown(container->streams[STREAM_REPORTS]->fd, SHUT_RDWR);
    for (int i = 0; i < STREAMS; i++)
        stream_close(container, i);
    if (container->supervisor)
        (void)waitpid(container->supervisor, NULL, 0);
    str_release(&container->reports);
    mem_free(container);
}
