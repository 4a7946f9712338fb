#include "launcher/remote/agent/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "launcher/process/command.h"
#include "launcher/process/descendants.h"
#include "launcher/process/memory_events.h"
#include "launcher/remote/protocol/stdio_stream.h"
#include "launcher/process/signal_fd.h"

#define QUIET_MS 2000
#define ENDING_MS 2000
#define LOOK_MS 20
#define NEVER INT64_MAX

enum stage {
    STAGE_RUNNING,
    STAGE_DRAINING, /* the command ended; its last output is being sent */
    STAGE_PARTING,  /* the exit status is being sent */
    STAGE_KEEPING,  /* the client has it; remaining processes live on */
    STAGE_CUTTING,  /* all processes are being ended */
};

enum { WAIT_SIGNAL, WAIT_LINK, WAIT_IN, WAIT_OUT, WAIT_ERR, WAIT_COUNT };

struct session {
    struct agent_conn *agent_conn;
    bool is_linked;
    struct sink in;
    struct source out, err;
    pid_t command; /* and its process group; 0: it ended, and the id may be reused */
    int status;
    enum stage stage;
    int64_t deadline_ms, now_ms;
    int signals;
    uint32_t oom_kills_before;
};

static void enter(struct session *s, enum stage stage, int64_t ms)
{
    s->stage = stage;
    s->deadline_ms = ms == NEVER ? NEVER : s->now_ms + ms;
}

static void unlink_streams(struct session *s)
{
    sink_release(&s->in);
    source_release(&s->out);
    source_release(&s->err);
}

static void close_conn(struct session *s)
{
    if (s->is_linked)
        agent_conn_close(s->agent_conn);
    s->is_linked = false;
    unlink_streams(s);
}

/* A stopped process must run to handle it. */
static void terminate_all(void)
{
    descendants_signal(SIGTERM, NULL, 0);
    descendants_signal(SIGCONT, NULL, 0);
}

static void cut(struct session *s, int64_t grace_ms)
{
    close_conn(s);
    if (grace_ms > 0)
        terminate_all();
    enter(s, STAGE_CUTTING, grace_ms);
}

static bool deadline_has_passed(const struct session *s)
{
    return s->now_ms >= s->deadline_ms;
}

static void command_ended(struct session *s, int status)
{
    s->command = 0;
    s->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (s->stage == STAGE_RUNNING)
        enter(s, STAGE_DRAINING, QUIET_MS);
}

/* False if no descendants are left. */
static bool reap(struct session *s)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == s->command)
            command_ended(s, status);
    return pid == 0;
}

static bool has_bytes(const struct source *source)
{
    int waiting = 0;

    return source->fd >= 0 && ioctl(source->fd, FIONREAD, &waiting) == 0 && waiting > 0;
}

/* The launcher only sees that a rank was killed: its log is where the cause must be. */
static void report_oom_kills(struct session *s)
{
    uint32_t count = memory_events_oom_kills_since("", s->oom_kills_before);

    if (count)
        agent_conn_send_number(s->agent_conn, FRAME_OOM_KILLED, 0, count);
}

static void part(struct session *s)
{
    source_end(&s->out, s->agent_conn);
    source_end(&s->err, s->agent_conn);
    report_oom_kills(s);
    agent_conn_send_number(s->agent_conn, FRAME_EXIT, 0, (uint32_t)s->status);
    enter(s, STAGE_PARTING, NEVER);
}

/* Remaining processes may hold the streams open: a stream without output for a while counts as ended. */
static void drain(struct session *s)
{
    if ((s->out.fd < 0 && s->err.fd < 0) ||
        (deadline_has_passed(s) && !has_bytes(&s->out) && !has_bytes(&s->err)))
        part(s);
    else if (deadline_has_passed(s))
        enter(s, STAGE_DRAINING, QUIET_MS);
}

/* False when the session is over. */
static bool advance(struct session *s, bool has_descendants)
{
    switch (s->stage) {
    case STAGE_RUNNING:
    case STAGE_PARTING:
        return true;
    case STAGE_DRAINING:
        drain(s);
        return true;
    case STAGE_CUTTING:
        if (has_descendants && deadline_has_passed(s)) {
            descendants_signal(SIGKILL, NULL, 0);
            enter(s, STAGE_CUTTING, LOOK_MS);
        }
        return has_descendants;
    case STAGE_KEEPING:
        break;
    }
    return has_descendants;
}

static void pass_on(const struct session *s, uint32_t signal)
{
    if (signal == 0 || signal >= NSIG || s->command == 0)
        return;
    (void)kill(-s->command, (int)signal);
    if (signal == SIGTERM) /* a stopped process must run to act on it */
        (void)kill(-s->command, SIGCONT);
}

static bool take_frame(struct session *s, const struct frame *frame, struct err *err)
{
    switch ((int)frame->type) {
    case FRAME_DATA:
    case FRAME_END:
    case FRAME_CREDIT:
    case FRAME_STOP:
        if (frame->channel == CHANNEL_IN)
            return sink_handle_frame(&s->in, frame, s->agent_conn, err);
        return source_handle_frame(frame->channel == CHANNEL_OUT ? &s->out : &s->err, frame, err);
    case FRAME_SIGNAL:
        pass_on(s, frame->number);
        return true;
    case FRAME_BYE:
        if (s->stage == STAGE_PARTING)
            enter(s, STAGE_KEEPING, NEVER);
        return true;
    case FRAME_HEARTBEAT:
        return true;
    default:
        return err_set(err, ERR_INVALID, "unexpected frame of type %d from the client", (int)frame->type);
    }
}

static bool take_frames(struct session *s, struct err *err)
{
    struct frame frame;
    bool got = true;

    while (got && s->stage != STAGE_KEEPING) {
        if (!agent_conn_next_frame(s->agent_conn, &frame, &got, err) || (got && !take_frame(s, &frame, err)))
            return false;
    }
    return true;
}

/* A connection that ends early always means that no client waits for the command any more. */
static void turn_link(struct session *s)
{
    struct err err;

    if (!agent_conn_process(s->agent_conn, s->now_ms, &err) || !take_frames(s, &err) ||
        (s->agent_conn->is_closed && s->stage != STAGE_KEEPING))
        cut(s, ENDING_MS);
    else if (s->stage == STAGE_KEEPING)
        close_conn(s);
}

static void take_signals(struct session *s)
{
    int signal;

    while ((signal = signal_fd_read(s->signals)) != 0) {
        if (signal == SIGTERM)
            terminate_all();
        else if (signal == SIGQUIT)
            cut(s, 0);
    }
}

static void fill_poll(const struct session *s, struct pollfd *set)
{
    bool is_linked = s->is_linked;

    set[WAIT_SIGNAL] = (struct pollfd){.fd = s->signals, .events = POLLIN};
    set[WAIT_LINK] = (struct pollfd){.fd = -1};
    if (is_linked)
        set[WAIT_LINK] =
            (struct pollfd){.fd = agent_conn_fd(s->agent_conn), .events = agent_conn_events(s->agent_conn)};
    set[WAIT_IN] = (struct pollfd){is_linked && sink_is_ready(&s->in) ? s->in.fd : -1, POLLOUT, 0};
    set[WAIT_OUT] =
        (struct pollfd){is_linked && source_is_ready(&s->out, s->agent_conn) ? s->out.fd : -1, POLLIN, 0};
    set[WAIT_ERR] =
        (struct pollfd){is_linked && source_is_ready(&s->err, s->agent_conn) ? s->err.fd : -1, POLLIN, 0};
}

static void await(struct session *s)
{
    struct pollfd set[WAIT_COUNT];
    int64_t deadline_ms = s->deadline_ms;

    fill_poll(s, set);
    if (s->is_linked && agent_conn_deadline_ms(s->agent_conn) < deadline_ms)
        deadline_ms = agent_conn_deadline_ms(s->agent_conn);
    if (s->is_linked && agent_conn_has_more(s->agent_conn))
        deadline_ms = s->now_ms;
    (void)poll(set, WAIT_COUNT, deadline_ms == NEVER ? -1 : poll_timeout_ms(s->now_ms, deadline_ms));
    s->now_ms = signals_now_ms();
    if (set[WAIT_IN].revents)
        sink_write(&s->in, s->agent_conn);
    if (set[WAIT_OUT].revents)
        source_read(&s->out, s->agent_conn);
    if (set[WAIT_ERR].revents)
        source_read(&s->err, s->agent_conn);
    take_signals(s);
    if (s->is_linked)
        turn_link(s);
}

/* The child's descriptors become this process's own standard streams while the command is started. */
static bool open_streams(struct session *s, struct err *err)
{
    static const int ours[CHANNEL_COUNT] = {1, 0, 0};
    int ends[CHANNEL_COUNT][2];

    for (int i = 0; i < CHANNEL_COUNT; i++) {
        if (pipe2(ends[i], O_CLOEXEC) < 0)
            return err_errno(err, errno, "no pipe is left");
        (void)fcntl(ends[i][ours[i]], F_SETFL, O_NONBLOCK);
    }
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        (void)dup2(ends[i][!ours[i]], i);
        (void)close(ends[i][!ours[i]]);
    }
    sink_init(&s->in, CHANNEL_IN, ends[CHANNEL_IN][1]);
    source_init(&s->out, CHANNEL_OUT, ends[CHANNEL_OUT][0]);
    source_init(&s->err, CHANNEL_ERR, ends[CHANNEL_ERR][0]);
    return true;
}

static void leave_streams(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int i = 0; i < CHANNEL_COUNT; i++)
        if (nothing < 0 || dup2(nothing, i) < 0)
            (void)close(i);
    if (nothing >= CHANNEL_COUNT)
        (void)close(nothing);
}

static bool begin(struct session *s, const char *line, char **envp, const struct signals *inherited,
                  struct err *err)
{
    AUTO(mem) char *text = mem_strdup(line);
    char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, text, NULL};
    struct command command = {.argv = argv, .envp = envp, .kill_with_parent = true};
    bool started;

    if (!open_streams(s, err))
        return false;
    started = command_start(&command, inherited, &s->command, err);
    leave_streams();
    return started;
}

static void reject(struct session *s, const struct err *why)
{
    agent_conn_send_bytes(s->agent_conn, FRAME_FAILED, 0, slice_of(why->msg));
    s->status = command_exit_status(why);
    part(s);
}

void session_run(struct agent_conn *conn, const char *line, char **envp, const struct signals *inherited)
{
    struct session s = {.agent_conn = conn,
                        .is_linked = true,
                        .in = {.fd = -1},
                        .out = {.fd = -1},
                        .err = {.fd = -1},
                        .signals = -1,
                        .now_ms = signals_now_ms(),
                        .oom_kills_before = memory_events_oom_kills("")};
    struct err err;
    sigset_t all;

    sigfillset(&all);
    enter(&s, STAGE_RUNNING, NEVER);
    (void)descendants_become_subreaper(); /* kernels without it only lose orphans */
    if (!signal_fd_open(&all, &s.signals, &err) || !begin(&s, line, envp, inherited, &err))
        reject(&s, &err);
    turn_link(&s);
    while (advance(&s, reap(&s)))
        await(&s);
    close_conn(&s);
    fd_auto(&s.signals);
}
