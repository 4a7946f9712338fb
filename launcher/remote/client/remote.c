#include "launcher/remote/client/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "launcher/env/workers.h"
#include "launcher/process/signals.h"
#include "launcher/remote/protocol/frame.h"
#include "launcher/remote/protocol/stdio_stream.h"
#include "launcher/remote/client/dial.h"
#include "launcher/remote/protocol/key.h"
#include "launcher/output/diag.h"
#include "launcher/process/signal_fd.h"

enum { WAIT_SIGNAL, WAIT_LINK, WAIT_IN, WAIT_OUT, WAIT_ERR, WAIT_COUNT };

struct remote {
    struct agent_conn agent_conn;
    struct source in;
    struct sink out, err;
    int signals;
    int64_t now_ms;
    bool is_over; /* the exit status has arrived */
    int status;
    uint32_t oom_kills;
    struct err failed; /* why the agent could not run the command */
};

/* Other processes share the pipe's file description and may fill it between poll and write; a description of
 * its own can be non-blocking without changing theirs. If none can be opened, the shared one is used. */
static void own_pipe(int fd)
{
    struct stat about;

    if (fstat(fd, &about) < 0 || !S_ISFIFO(about.st_mode))
        return;
    AUTO(mem) char *path = mem_printf("/proc/self/fd/%d", fd);
    AUTO(fd) int own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (own >= 0)
        (void)dup3(own, fd, O_CLOEXEC);
}

static bool take_frame(struct remote *r, const struct frame *frame, struct err *err)
{
    switch ((int)frame->type) {
    case FRAME_DATA:
    case FRAME_END:
    case FRAME_CREDIT:
    case FRAME_STOP:
        if (frame->channel == CHANNEL_IN)
            return source_handle_frame(&r->in, frame, err);
        return sink_handle_frame(frame->channel == CHANNEL_OUT ? &r->out : &r->err, frame, &r->agent_conn,
                                 err);
    case FRAME_FAILED:
        err_set(&r->failed, ERR_DENIED, "%.*s", (int)frame->bytes.len, frame->bytes.ptr);
        return true;
    case FRAME_OOM_KILLED:
        r->oom_kills = frame->number;
        return true;
    case FRAME_EXIT:
        r->is_over = true;
        r->status = (int)frame->number;
        return true;
    case FRAME_HEARTBEAT:
        return true;
    default:
        return err_set(err, ERR_INVALID, "unexpected frame of type %d from the agent", (int)frame->type);
    }
}

static bool turn_link(struct remote *r, struct err *err)
{
    struct frame frame;
    bool got = true;

    if (!agent_conn_process(&r->agent_conn, r->now_ms, err))
        return false;
    while (got && !r->is_over)
        if (!agent_conn_next_frame(&r->agent_conn, &frame, &got, err) || (got && !take_frame(r, &frame, err)))
            return false;
    if (r->agent_conn.is_closed && !r->is_over)
        return err_set(err, ERR_IO, "the agent has exited");
    return true;
}

static void pass_signals_on(struct remote *r)
{
    int signal;

    while ((signal = signal_fd_read(r->signals)) != 0)
        agent_conn_send_number(&r->agent_conn, FRAME_SIGNAL, 0, (uint32_t)signal);
}

static void fill_poll(const struct remote *r, struct pollfd *set)
{
    set[WAIT_SIGNAL] = (struct pollfd){.fd = r->signals, .events = POLLIN};
    set[WAIT_LINK] =
        (struct pollfd){.fd = agent_conn_fd(&r->agent_conn), .events = agent_conn_events(&r->agent_conn)};
    set[WAIT_IN] =
        (struct pollfd){!r->is_over && source_is_ready(&r->in, &r->agent_conn) ? r->in.fd : -1, POLLIN, 0};
    set[WAIT_OUT] = (struct pollfd){sink_is_ready(&r->out) ? r->out.fd : -1, POLLOUT, 0};
    set[WAIT_ERR] = (struct pollfd){sink_is_ready(&r->err) ? r->err.fd : -1, POLLOUT, 0};
}

static bool turn(struct remote *r, struct err *err)
{
    struct pollfd set[WAIT_COUNT];
    int64_t deadline_ms =
        agent_conn_has_more(&r->agent_conn) ? r->now_ms : agent_conn_deadline_ms(&r->agent_conn);

    fill_poll(r, set);
    (void)poll(set, WAIT_COUNT, poll_timeout_ms(r->now_ms, deadline_ms));
    r->now_ms = signals_now_ms();
    if (set[WAIT_IN].revents)
        source_read(&r->in, &r->agent_conn);
    if (set[WAIT_OUT].revents)
        sink_write(&r->out, &r->agent_conn);
    if (set[WAIT_ERR].revents)
        sink_write(&r->err, &r->agent_conn);
    pass_signals_on(r);
    return turn_link(r, err);
}

static bool is_written(const struct remote *r)
{
    return !sink_is_ready(&r->out) && !sink_is_ready(&r->err);
}

static bool run_loop(struct remote *r, struct err *err)
{
    while (!r->is_over || !is_written(r))
        if (!turn(r, err))
            return r->is_over && is_written(r);
    agent_conn_send_number(&r->agent_conn, FRAME_BYE, 0, 0);
    while (r->agent_conn.out.len > 0)
        if (!turn(r, err))
            break;
    return true;
}

static bool watch_signals(struct remote *r, struct err *err)
{
    static const int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < COUNT_OF(passed_on); i++)
        sigaddset(&set, passed_on[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signal_fd_open(&set, &r->signals, err);
}

/* What this process itself reports may follow the end of the command's output: it keeps its standard error.
 */
static void begin(struct remote *r, const char *line)
{
    int commands_err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    own_pipe(STDOUT_FILENO);
    own_pipe(commands_err);
    source_init(&r->in, CHANNEL_IN, STDIN_FILENO);
    sink_init(&r->out, CHANNEL_OUT, STDOUT_FILENO);
    sink_init(&r->err, CHANNEL_ERR, commands_err);
    agent_conn_send_bytes(&r->agent_conn, FRAME_COMMAND, 0, slice_of(line));
    agent_conn_send_number(&r->agent_conn, FRAME_START, 0, 0);
}

static void end(struct remote *r)
{
    agent_conn_close(&r->agent_conn);
    source_release(&r->in);
    sink_release(&r->out);
    sink_release(&r->err);
    fd_auto(&r->signals);
}

static bool find(const struct envv *env, const char *name, struct workers *workers, const struct worker **ret,
                 struct err *err)
{
    const char *hosts = envv_get(env, WORKERS_ENV_HOSTS);

    if (!hosts || !*hosts)
        return err_set(err, ERR_INVALID,
                       "not a launcher pod: " WORKERS_ENV_HOSTS " is not set; workers are reached from "
                       "their job's launcher only");
    if (!workers_read(hosts, workers, err))
        return false;
    *ret = workers_find(workers, name);
    return *ret || err_set(err, ERR_NOT_FOUND, "unknown worker \"%.80s\"; see " WORKERS_ENV_HOSTS, name);
}

static int lose(const struct worker *worker, const char *what, const struct err *why)
{
    diag("worker %s %s: %s", worker->name, what, why->msg);
    return REMOTE_EXIT_LOST;
}

/* The operator reads this line in the launcher's log (operator/api/observed/log_tail.c). */
static void report_oom_kills(const struct remote *r, const struct worker *worker)
{
    if (r->oom_kills)
        diag("worker %s ran out of memory: the kernel killed %u %s", worker->name, r->oom_kills,
             r->oom_kills == 1 ? "process" : "processes");
}

static int conclude(const struct remote *r, const struct worker *worker, const struct err *why)
{
    if (r->failed.kind != ERR_NONE)
        (void)lose(worker, "runs nothing", &r->failed);
    else if (why)
        (void)lose(worker, "is lost", why);
    report_oom_kills(r, worker);
    return why ? REMOTE_EXIT_LOST : r->status;
}

static int run(struct psk *tls, const struct worker *worker, const char *line)
{
    struct remote r = {.signals = -1, .now_ms = signals_now_ms()};
    struct err err;
    bool good;

    agent_conn_init(&r.agent_conn, tls, r.now_ms);
    good = watch_signals(&r, &err);
    begin(&r, line);
    good = good && run_loop(&r, &err);
    end(&r);
    return conclude(&r, worker, good ? NULL : &err);
}

static bool check_line(const char *line, struct err *err)
{
    if (strlen(line) <= FRAME_COMMAND_LINE_MAX_BYTES)
        return true;
    return err_set(err, ERR_INVALID, "the command is longer than %u bytes; pass long arguments in a file",
                   FRAME_COMMAND_LINE_MAX_BYTES);
}

bool remote_run(const struct envv *env, const char *name, const char *line, int *ret, struct err *err)
{
    AUTO(workers) struct workers workers = {0};
    struct psk_context *context;
    const struct worker *worker = NULL;
    struct psk *tls;

    if (!check_line(line, err) || !find(env, name, &workers, &worker, err) ||
        !key_open_launcher(env, worker->index, &context, err))
        return false;
    if (dial(context, &worker->address, worker->address_len, &tls, err))
        *ret = run(tls, worker, line);
    else
        *ret = lose(worker, "cannot be reached", err);
    psk_context_free(context);
    return true;
}
