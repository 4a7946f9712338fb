#include "launcher/remote/agent/agent.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "launcher/process/descendants.h"
#include "launcher/process/supervise.h"
#include "launcher/remote/agent/pending_conn.h"
#include "launcher/remote/agent/log_ratelimit.h"
#include "launcher/remote/agent/session_table.h"
#include "launcher/remote/protocol/key.h"
#include "launcher/output/diag.h"
#include "launcher/remote/agent/session.h"
#include "launcher/process/signal_fd.h"

#define PENDING_CONNS_MAX 64u
#define ACCEPT_BACKOFF_MS 100 /* until the next attempt if the system has no free descriptor */

enum { WAIT_SIGNAL, WAIT_LISTENER, WAIT_PENDING_CONNS };

struct agent {
    const struct agent_options *options;
    struct signals inherited;
    struct identity own; /* with the newest attempt that it has seen */
    struct psk_context *tls;
    int listener_fd, signals;
    struct pending_conn *pending_conns[PENDING_CONNS_MAX];
    size_t pending_conn_count;
    uint64_t last_conn_number;
    struct session_table session_table;
    pid_t command; /* the supervisor of the user's own command; 0: it has ended, or there is none */
    int status;
    bool is_ending;
    int64_t now_ms, accept_backoff_until_ms;
    struct log_ratelimit log_ratelimit;
};

static void log_rejection(struct agent *a, const struct pending_conn *conn)
{
    uint64_t more;

    if (!log_ratelimit_allow(&a->log_ratelimit, conn->rejection, a->now_ms, &more))
        return;
    if (more)
        diag("agent: rejected connection from %s: %s (%" PRIu64 " similar suppressed)", conn->from,
             rejection_text(conn->rejection), more);
    else
        diag("agent: rejected connection from %s: %s", conn->from, rejection_text(conn->rejection));
}

static void remove_caller(struct agent *a, size_t i)
{
    a->pending_conns[i] = a->pending_conns[--a->pending_conn_count];
}

static void reject(struct agent *a, size_t i)
{
    struct pending_conn *conn = a->pending_conns[i];

    log_rejection(a, conn);
    remove_caller(a, i);
    pending_conn_free(conn);
}

/* What only the agent itself may keep open. */
static void close_inherited(struct agent *a, const struct pending_conn *but)
{
    for (size_t i = 0; i < a->pending_conn_count; i++)
        if (a->pending_conns[i] != but)
            pending_conn_detach(a->pending_conns[i]);
    a->pending_conn_count = 0;
    fd_auto(&a->listener_fd);
    fd_auto(&a->signals);
}

/* In the child: dies with the agent, and is not affected by signals to the agent's process group. */
static bool die_with_parent(pid_t agent, int signal)
{
    (void)prctl(PR_SET_PDEATHSIG, (long)signal, 0L, 0L, 0L);
    (void)setpgid(0, 0);
    return getppid() != agent;
}

static void run_session(struct agent *a, struct pending_conn *conn, pid_t agent)
{
    close_inherited(a, conn);
    if (die_with_parent(agent, SIGQUIT))
        return;
    session_run(&conn->agent_conn, str_text(&conn->line), a->options->remote_env, &a->inherited);
}

static void start_session(struct agent *a, size_t i)
{
    struct pending_conn *conn = a->pending_conns[i];
    pid_t self = getpid(), pid = fork();

    if (pid == 0) {
        run_session(a, conn, self);
        _exit(0);
    }
    if (pid < 0) {
        conn->rejection = REJECTION_BUSY;
        reject(a, i);
        return;
    }
    session_table_add(&a->session_table, pid, conn->identity.attempt);
    remove_caller(a, i);
    pending_conn_detach(conn);
}

static void begin_attempt(struct agent *a, uint32_t attempt)
{
    a->own.attempt = attempt;
    session_table_signal_older(&a->session_table, attempt, SIGQUIT);
}

static void admit_attempt(struct agent *a, size_t i)
{
    struct pending_conn *conn = a->pending_conns[i];

    if (conn->identity.attempt > a->own.attempt)
        begin_attempt(a, conn->identity.attempt);
    conn->is_waiting = session_table_has_older(&a->session_table, a->own.attempt);
    if (conn->identity.attempt < a->own.attempt)
        conn->rejection = REJECTION_STALE_ATTEMPT;
    else if (!conn->is_waiting && session_table_is_full(&a->session_table))
        conn->rejection = REJECTION_BUSY;
    if (conn->rejection != REJECTION_NONE)
        reject(a, i);
    else if (!conn->is_waiting)
        start_session(a, i);
}

static void drop_caller(struct agent *a, size_t i)
{
    struct pending_conn *conn = a->pending_conns[i];

    remove_caller(a, i);
    pending_conn_free(conn);
}

/* The connection may be removed. */
static void poll_one(struct agent *a, size_t i)
{
    switch (pending_conn_process(a->pending_conns[i], a->now_ms)) {
    case PENDING_CONN_WAITING:
        break;
    case PENDING_CONN_READY:
        admit_attempt(a, i);
        break;
    case PENDING_CONN_DONE:
        drop_caller(a, i);
        break;
    case PENDING_CONN_REJECTED:
        reject(a, i);
        break;
    }
}

/* From the last to the first, because a removed entry is replaced by the last. */
static void poll_pending(struct agent *a)
{
    for (size_t i = a->pending_conn_count; i-- > 0;)
        poll_one(a, i);
}

/* What has arrived from the one that is to go is read first: in a flood, it may be a client that waited in
 * the kernel's queue and had no turn yet. */
static void make_room(struct agent *a)
{
    while (a->pending_conn_count == PENDING_CONNS_MAX) {
        struct conn_origin members[PENDING_CONNS_MAX];
        size_t chosen;

        for (size_t i = 0; i < PENDING_CONNS_MAX; i++)
            members[i] = a->pending_conns[i]->member;
        chosen = conn_eviction_pick(members, PENDING_CONNS_MAX);
        poll_one(a, chosen);
        if (a->pending_conn_count < PENDING_CONNS_MAX ||
            a->pending_conns[chosen]->member.has_key != members[chosen].has_key)
            continue;
        a->pending_conns[chosen]->rejection = REJECTION_EVICTED;
        reject(a, chosen);
    }
}

/* False: no connection is waiting. */
static bool accept_one(struct agent *a)
{
    struct conn_origin member = {.number = a->last_conn_number};
    char from[ENDPOINT_TEXT_MAX] = "";
    int fd = endpoint_accept(a->listener_fd, member.address, from);
    struct pending_conn *conn;

    if (fd < 0)
        return false;
    make_room(a);
    conn = pending_conn_new(a->tls, fd, &a->own, a->now_ms);
    conn->member = member;
    memcpy(conn->from, from, sizeof(from));
    a->last_conn_number++;
    a->pending_conns[a->pending_conn_count++] = conn;
    return true;
}

/* As many at once as the limit allows; the others wait in the kernel's queue for the next turn. */
static void accept_connections(struct agent *a)
{
    for (unsigned i = 0; i < PENDING_CONNS_MAX; i++) {
        if (accept_one(a))
            continue;
        if (errno != EAGAIN && errno != ECONNABORTED)
            a->accept_backoff_until_ms = a->now_ms + ACCEPT_BACKOFF_MS;
        return;
    }
}

static void command_ended(struct agent *a, int status)
{
    a->command = 0;
    a->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (a->is_ending)
        return;
    diag("agent: worker command exited with status %d; the agent keeps running for the launcher", a->status);
    a->status = 0;
}

static void ended(struct agent *a, pid_t pid, int status)
{
    if (pid == a->command)
        command_ended(a, status);
    if (!session_table_remove(&a->session_table, pid) || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
        return;
    diag("agent: session process was killed; killed its remaining processes");
    session_table_kill_strays(&a->session_table, a->command);
}

/* False if no descendants are left. */
static bool reap(struct agent *a)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        ended(a, pid, status);
    return pid == 0;
}

static void pass_on(struct agent *a, int signal)
{
    if (a->command)
        (void)kill(a->command, signal);
}

static void begin_shutdown(struct agent *a)
{
    a->is_ending = true;
    while (a->pending_conn_count > 0)
        drop_caller(a, a->pending_conn_count - 1);
    fd_auto(&a->listener_fd);
    a->listener_fd = -1;
    session_table_signal(&a->session_table, SIGTERM);
    pass_on(a, SIGTERM);
}

static void take_signals(struct agent *a)
{
    int signal;

    while ((signal = signal_fd_read(a->signals)) != 0) {
        if (signal == SIGCHLD || signal == SIGPIPE)
            continue;
        if ((signal == SIGTERM || signal == SIGINT) && !a->is_ending)
            begin_shutdown(a);
        else
            pass_on(a, signal);
    }
}

static int64_t next_deadline_ms(const struct agent *a)
{
    int64_t deadline_ms = a->accept_backoff_until_ms > a->now_ms ? a->accept_backoff_until_ms : INT64_MAX;

    for (size_t i = 0; i < a->pending_conn_count; i++) {
        const struct pending_conn *conn = a->pending_conns[i];

        if (!conn->is_waiting && conn->deadline_ms < deadline_ms)
            deadline_ms = conn->deadline_ms;
        if (conn->is_waiting ? !session_table_has_older(&a->session_table, a->own.attempt)
                             : conn->is_linked && agent_conn_has_more(&conn->agent_conn))
            deadline_ms = a->now_ms;
    }
    return deadline_ms;
}

static void await(struct agent *a)
{
    struct pollfd set[WAIT_PENDING_CONNS + PENDING_CONNS_MAX];
    bool is_open = a->accept_backoff_until_ms <= a->now_ms;
    int64_t deadline_ms = next_deadline_ms(a);

    set[WAIT_SIGNAL] = (struct pollfd){.fd = a->signals, .events = POLLIN};
    set[WAIT_LISTENER] = (struct pollfd){.fd = is_open ? a->listener_fd : -1, .events = POLLIN};
    for (size_t i = 0; i < a->pending_conn_count; i++)
        set[WAIT_PENDING_CONNS + i] =
            (struct pollfd){.fd = a->pending_conns[i]->is_waiting ? -1 : pending_conn_fd(a->pending_conns[i]),
                            .events = pending_conn_events(a->pending_conns[i])};
    (void)poll(set, WAIT_PENDING_CONNS + a->pending_conn_count,
               deadline_ms == INT64_MAX ? -1 : poll_timeout_ms(a->now_ms, deadline_ms));
    a->now_ms = signals_now_ms();
    poll_pending(a);
    if (set[WAIT_LISTENER].revents)
        accept_connections(a);
    take_signals(a);
}

static _Noreturn void supervise(struct agent *a, pid_t agent)
{
    struct command command = {
        .argv = a->options->argv, .envp = a->options->own_env, .kill_with_parent = true};
    struct err err;
    int status;

    close_inherited(a, NULL);
    if (die_with_parent(agent, SIGTERM))
        _exit(COMMAND_EXIT_LAUNCHER);
    signals_restore(&a->inherited);
    if (!supervise_command(&command, &status, &err)) {
        diag("%s", err.msg);
        status = command_exit_status(&err);
    }
    _exit(status);
}

static bool start_own(struct agent *a, struct err *err)
{
    pid_t self = getpid();

    if (!a->options->argv)
        return true;
    a->command = fork();
    if (a->command == 0)
        supervise(a, self);
    return a->command > 0 || err_errno(err, errno, "no process is left");
}

static void release(struct agent *a)
{
    while (a->pending_conn_count > 0)
        drop_caller(a, a->pending_conn_count - 1);
    fd_auto(&a->listener_fd);
    fd_auto(&a->signals);
    psk_context_free(a->tls);
}

static bool open_agent(struct agent *a, struct err *err)
{
    sigset_t all;

    sigfillset(&all);
    return key_open_agent(a->options->env, &a->own, &a->tls, err) &&
           endpoint_listen(a->options->env, &a->listener_fd, err) && signal_fd_open(&all, &a->signals, err) &&
           start_own(a, err);
}

bool agent_serve(const struct agent_options *options, int *ret, struct err *err)
{
    AUTO(mem) struct agent *a = NEW(struct agent);
    bool begun;

    *a = (struct agent){.options = options, .listener_fd = -1, .signals = -1, .now_ms = signals_now_ms()};
    signals_block(&a->inherited);
    (void)descendants_become_subreaper(); /* kernels without it only lose orphans */
    begun = open_agent(a, err);
    while (begun && (reap(a) || !a->is_ending))
        await(a);
    *ret = a->status;
    release(a);
    return begun;
}
