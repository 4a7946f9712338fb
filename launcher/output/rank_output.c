#include "launcher/output/rank_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "launcher/env/line_buffer.h"
#include "launcher/process/signals.h"

/* A line that is not finished after this time is shown as a piece: it may be a prompt or a progress bar. */
#define UNFINISHED_MS 2000
#define NEVER (-1)

enum { STREAM_OUT, STREAM_ERR, STREAM_COUNT };

struct stream {
    int from, to;        /* from is -1 once the stream has ended */
    int64_t deadline_ms; /* of an unfinished line, or NEVER */
    struct line_buffer buffer;
};

static void close_fd(int *fd)
{
    fd_auto(fd);
    *fd = -1;
}

/* ---- the separate process ---- */

static void wait_for(int fd, short events)
{
    struct pollfd one = {.fd = fd, .events = events};

    (void)poll(&one, 1, NEVER);
}

static bool write_all(int to, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t put = write(to, bytes, len);

        if (put < 0 && errno == EAGAIN)
            wait_for(to, POLLOUT);
        else if (put < 0 && errno != EINTR)
            return false;
        if (put > 0) {
            bytes += put;
            len -= (size_t)put;
        }
    }
    return true;
}

/* The writer then gets the error that it would have got from mpirun's daemon itself. */
static void close_stream(struct stream *s)
{
    close_fd(&s->from);
    close_fd(&s->to);
    s->deadline_ms = NEVER;
}

static bool hand_on(struct stream *s, enum line_buffer_rest rest)
{
    static char chunk[LINE_BUFFER_CHUNK_MAX];
    size_t len;

    while ((len = line_buffer_take(&s->buffer, rest, chunk)) > 0) {
        if (!write_all(s->to, chunk, len))
            return false;
        s->deadline_ms = NEVER;
    }
    if (!line_buffer_is_empty(&s->buffer) && s->deadline_ms == NEVER)
        s->deadline_ms = signals_now_ms() + UNFINISHED_MS;
    return true;
}

/* All that is there: a pseudoterminal returns little at a time, and large chunks are handed on faster. False
 * at the end; a pseudoterminal then fails with EIO. */
static bool read_all(struct stream *s)
{
    for (;;) {
        size_t room;
        char *space = line_buffer_space(&s->buffer, &room);
        ssize_t got = room > 0 ? read(s->from, space, room) : -1;

        if (room == 0 || (got < 0 && errno == EAGAIN))
            return true;
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        if (got > 0)
            line_buffer_add(&s->buffer, (size_t)got);
    }
}

static void read_stream(struct stream *s)
{
    bool has_more = read_all(s);

    if (!hand_on(s, has_more ? LINE_BUFFER_KEEP : LINE_BUFFER_END) || !has_more)
        close_stream(s);
}

static void show_unfinished(struct stream *s)
{
    if (s->deadline_ms == NEVER || s->deadline_ms > signals_now_ms())
        return;
    if (!hand_on(s, LINE_BUFFER_CUT))
        close_stream(s);
}

static int timeout_ms(const struct stream streams[STREAM_COUNT])
{
    int64_t now_ms = signals_now_ms(), first_ms = NEVER;

    for (size_t i = 0; i < STREAM_COUNT; i++) {
        int64_t deadline_ms = streams[i].deadline_ms;

        if (deadline_ms != NEVER && (first_ms == NEVER || deadline_ms < first_ms))
            first_ms = deadline_ms;
    }
    if (first_ms == NEVER)
        return NEVER;
    return first_ms > now_ms ? (int)(first_ms - now_ms) : 0;
}

static _Noreturn void relay(struct stream streams[STREAM_COUNT])
{
    while (streams[STREAM_OUT].from >= 0 || streams[STREAM_ERR].from >= 0) {
        struct pollfd set[STREAM_COUNT];

        for (size_t i = 0; i < STREAM_COUNT; i++)
            set[i] = (struct pollfd){.fd = streams[i].from, .events = POLLIN};
        (void)poll(set, STREAM_COUNT, timeout_ms(streams));
        for (size_t i = 0; i < STREAM_COUNT; i++) {
            if (set[i].revents)
                read_stream(&streams[i]);
            show_unfinished(&streams[i]);
        }
    }
    _exit(0);
}

/* It ends by the end of its streams alone: the last words of a rank come after the signal. It must not slow
 * down a rank that is bound to a processor. */
static void stand_apart(void)
{
    sigset_t all;
    cpu_set_t cpus;

    (void)setsid();
    (void)!chdir("/");
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    memset(&cpus, 0xff, sizeof cpus);
    (void)sched_setaffinity(0, sizeof cpus, &cpus);
}

/* In a pipe of packets a read returns what one write has written. */
static void keep_boundaries(int to)
{
    struct stat about;

    if (fstat(to, &about) == 0 && S_ISFIFO(about.st_mode))
        (void)fcntl(to, F_SETFL, O_WRONLY | O_DIRECT);
}

static struct stream *make_streams(int pairs[STREAM_COUNT][2], const struct rank_output *of)
{
    struct stream *streams = mem_alloc(STREAM_COUNT * sizeof *streams);

    (void)close(STDIN_FILENO); /* the rank alone reads it */
    for (int i = 0; i < STREAM_COUNT; i++) {
        streams[i].from = pairs[i][0];
        streams[i].to = STDOUT_FILENO + i;
        streams[i].deadline_ms = NEVER;
        streams[i].buffer.is_exact = of->is_alone;
        if (of->rank) /* as Open MPI 5 does */
            (void)snprintf(streams[i].buffer.tag, sizeof streams[i].buffer.tag, "[1,%.7s]<%s>: ", of->rank,
                           i == STREAM_OUT ? "stdout" : "stderr");
        close_fd(&pairs[i][1]);
        if (streams[i].from >= 0) {
            (void)fcntl(streams[i].from, F_SETFL, O_NONBLOCK);
            keep_boundaries(streams[i].to);
        } else
            close_fd(&streams[i].to);
    }
    return streams;
}

/* ---- the rank ---- */

static void close_pair(int pair[2])
{
    close_fd(&pair[0]);
    close_fd(&pair[1]);
}

/* As that of mpirun, so that a program shows each line at once; nothing is changed on the way. */
static bool open_terminal(int ret[2])
{
    struct termios settings;

    ret[1] = -1;
    ret[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ret[0] >= 0 && grantpt(ret[0]) == 0 && unlockpt(ret[0]) == 0)
        ret[1] = ioctl(ret[0], TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ret[1] < 0 || tcgetattr(ret[1], &settings) < 0) {
        close_pair(ret);
        return false;
    }
    cfmakeraw(&settings);
    (void)tcsetattr(ret[1], TCSANOW, &settings);
    return true;
}

static bool open_pipe(int ret[2], struct err *err)
{
    return pipe2(ret, O_CLOEXEC) == 0 || err_errno(err, errno, "cannot open a pipe");
}

static bool are_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Which streams are connected: those that lead to mpirun. If both are one (mpirun can merge them), they stay
 * one, in their order. */
static void choose_streams(bool ret[STREAM_COUNT])
{
    struct stat about[STREAM_COUNT];

    for (int i = 0; i < STREAM_COUNT; i++)
        ret[i] = fstat(STDOUT_FILENO + i, &about[i]) == 0 &&
                 (S_ISFIFO(about[i].st_mode) || isatty(STDOUT_FILENO + i));
    if (ret[STREAM_OUT] && ret[STREAM_ERR] && are_same(&about[STREAM_OUT], &about[STREAM_ERR]))
        ret[STREAM_ERR] = false;
}

static bool open_streams(const bool chosen[STREAM_COUNT], int pairs[STREAM_COUNT][2], struct err *err)
{
    if (chosen[STREAM_OUT] && !open_terminal(pairs[STREAM_OUT]) && !open_pipe(pairs[STREAM_OUT], err))
        return false;
    return !chosen[STREAM_ERR] || open_pipe(pairs[STREAM_ERR], err);
}

/* Its parent ends at once: a program that waits for all of its children must not find one that it has not
 * started. */
static bool start_relay(int pairs[STREAM_COUNT][2], const struct rank_output *of, struct err *err)
{
    pid_t parent = fork();

    if (parent < 0)
        return err_errno(err, errno, "cannot start a process for the output");
    if (parent == 0) {
        pid_t relaying = fork();

        if (relaying != 0)
            _exit(relaying < 0);
        stand_apart();
        relay(make_streams(pairs, of));
    }

    int status = 0;

    while (waitpid(parent, &status, 0) < 0 && errno == EINTR)
        continue;
    return status == 0 || err_set(err, ERR_IO, "cannot start a process for the output");
}

static void connect_streams(int pairs[STREAM_COUNT][2])
{
    for (int i = 0; i < STREAM_COUNT; i++)
        if (pairs[i][1] >= 0)
            (void)dup2(pairs[i][1], STDOUT_FILENO + i);
    if (pairs[STREAM_ERR][1] < 0 && pairs[STREAM_OUT][1] >= 0)
        (void)dup2(pairs[STREAM_OUT][1], STDERR_FILENO);
}

bool rank_output_open(const struct rank_output *of, struct err *err)
{
    int pairs[STREAM_COUNT][2] = {{-1, -1}, {-1, -1}};
    bool chosen[STREAM_COUNT], good;

    choose_streams(chosen);
    good = open_streams(chosen, pairs, err) && start_relay(pairs, of, err);
    if (good)
        connect_streams(pairs);
    for (int i = 0; i < STREAM_COUNT; i++)
        close_pair(pairs[i]);
    return good;
}
