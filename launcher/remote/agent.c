#include "launcher/remote/agent.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "launcher/process/descend.h"
#include "launcher/process/supervise.h"
#include "launcher/remote/caller.h"
#include "launcher/remote/hush.h"
#include "launcher/remote/keepers.h"
#include "launcher/remote/key.h"
#include "launcher/remote/say.h"
#include "launcher/remote/session.h"
#include "launcher/remote/wake.h"

#define CALLERS_MAX 64u
#define BREATH_MS 100 /* until the next try when the system has no descriptor left */

enum { WAIT_SIGNAL, WAIT_DOOR, WAIT_CALLERS };

struct agent {
    const struct agent_options *options;
    struct signals inherited;
    struct identity own; /* with the newest attempt that was seen */
    struct psk_context *tls;
    int door, signals;
    struct caller *callers[CALLERS_MAX];
    size_t caller_count;
    uint64_t caller_number;
    struct keepers keepers;
    pid_t command; /* the supervisor of the user's own; 0: it ended, or there is none */
    int status;
    bool is_ending;
    int64_t now_ms, breath_ms;
    struct hush hush;
};

static void tell_refusal(struct agent *a, const struct caller *caller)
{
    uint64_t more;

    if (!hush_may_tell(&a->hush, caller->refusal, a->now_ms, &more))
        return;
    if (more)
        say("agent: refused a connection from %s: %s (%" PRIu64 " more since this was last said)",
            caller->from, refusal_text(caller->refusal), more);
    else
        say("agent: refused a connection from %s: %s", caller->from, refusal_text(caller->refusal));
}

static void remove_caller(struct agent *a, size_t i)
{
    a->callers[i] = a->callers[--a->caller_count];
}

static void refuse(struct agent *a, size_t i)
{
    struct caller *caller = a->callers[i];

    tell_refusal(a, caller);
    remove_caller(a, i);
    caller_free(caller);
}

static void make_room(struct agent *a)
{
    struct crowd_member members[CALLERS_MAX];
    size_t chosen;

    for (size_t i = 0; i < a->caller_count; i++)
        members[i] = a->callers[i]->member;
    chosen = crowd_choose(members, a->caller_count);
    a->callers[chosen]->refusal = REFUSAL_CROWD;
    refuse(a, chosen);
}

/* False: there is none. */
static bool let_in_next(struct agent *a)
{
    struct crowd_member member = {.number = a->caller_number};
    char from[ENDPOINT_TEXT_MAX] = "";
    int fd = endpoint_accept(a->door, member.address, from);
    struct caller *caller;

    if (fd < 0)
        return false;
    if (a->caller_count == CALLERS_MAX)
        make_room(a);
    caller = caller_new(a->tls, fd, &a->own, a->now_ms);
    caller->member = member;
    memcpy(caller->from, from, sizeof(from));
    a->caller_number++;
    a->callers[a->caller_count++] = caller;
    return true;
}

/* As many at once as there is room for; the others wait in the kernel's queue for the next turn. */
static void let_in(struct agent *a)
{
    for (unsigned i = 0; i < CALLERS_MAX; i++) {
        if (let_in_next(a))
            continue;
        if (errno != EAGAIN && errno != ECONNABORTED)
            a->breath_ms = a->now_ms + BREATH_MS;
        return;
    }
}

/* What only the agent itself may hold. */
static void forget_all(struct agent *a, const struct caller *but)
{
    for (size_t i = 0; i < a->caller_count; i++)
        if (a->callers[i] != but)
            caller_forget(a->callers[i]);
    a->caller_count = 0;
    fd_auto(&a->door);
    fd_auto(&a->signals);
}

/* In the child: dies with the agent, and is not hit by what is meant for the agent's process group. */
static bool is_orphan_by_now(pid_t agent, int signal)
{
    (void)prctl(PR_SET_PDEATHSIG, (long)signal, 0L, 0L, 0L);
    (void)setpgid(0, 0);
    return getppid() != agent;
}

static void run_session(struct agent *a, struct caller *caller, pid_t agent)
{
    forget_all(a, caller);
    if (is_orphan_by_now(agent, SIGQUIT))
        return;
    session_run(&caller->link, str_text(&caller->line), a->options->remote_env, &a->inherited);
}

static void start_session(struct agent *a, size_t i)
{
    struct caller *caller = a->callers[i];
    pid_t self = getpid(), pid = fork();

    if (pid == 0) {
        run_session(a, caller, self);
        _exit(0);
    }
    if (pid < 0) {
        caller->refusal = REFUSAL_BUSY;
        refuse(a, i);
        return;
    }
    keepers_add(&a->keepers, pid, caller->identity.attempt);
    remove_caller(a, i);
    caller_forget(caller);
}

static void begin_attempt(struct agent *a, uint32_t attempt)
{
    a->own.attempt = attempt;
    keepers_signal_older(&a->keepers, attempt, SIGQUIT);
}

static void grant(struct agent *a, size_t i)
{
    struct caller *caller = a->callers[i];

    if (caller->identity.attempt > a->own.attempt)
        begin_attempt(a, caller->identity.attempt);
    caller->is_waiting = keepers_have_older(&a->keepers, a->own.attempt);
    if (caller->identity.attempt < a->own.attempt)
        caller->refusal = REFUSAL_OLD;
    else if (!caller->is_waiting && keepers_are_full(&a->keepers))
        caller->refusal = REFUSAL_BUSY;
    if (caller->refusal != REFUSAL_NONE)
        refuse(a, i);
    else if (!caller->is_waiting)
        start_session(a, i);
}

static void drop_caller(struct agent *a, size_t i)
{
    struct caller *caller = a->callers[i];

    remove_caller(a, i);
    caller_free(caller);
}

/* From the last to the first, because one that goes is replaced by the last. */
static void turn_callers(struct agent *a)
{
    for (size_t i = a->caller_count; i-- > 0;) {
        switch (caller_turn(a->callers[i], a->now_ms)) {
        case CALLER_PENDING:
            break;
        case CALLER_WANTS:
            grant(a, i);
            break;
        case CALLER_DONE:
            drop_caller(a, i);
            break;
        case CALLER_REFUSED:
            refuse(a, i);
            break;
        }
    }
}

static void command_ended(struct agent *a, int status)
{
    a->command = 0;
    a->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (a->is_ending)
        return;
    say("agent: the command of this worker ended with status %d; the worker stays for its launcher",
        a->status);
    a->status = 0;
}

static void ended(struct agent *a, pid_t pid, int status)
{
    if (pid == a->command)
        command_ended(a, status);
    if (!keepers_remove(&a->keepers, pid) || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
        return;
    say("agent: the keeper of a remote command was killed; so is what it has left");
    keepers_sweep(&a->keepers, a->command);
}

/* False when no descendants are left. */
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

static void begin_ending(struct agent *a)
{
    a->is_ending = true;
    while (a->caller_count > 0)
        drop_caller(a, a->caller_count - 1);
    fd_auto(&a->door);
    a->door = -1;
    keepers_signal(&a->keepers, SIGTERM);
    pass_on(a, SIGTERM);
}

static void take_signals(struct agent *a)
{
    int signal;

    while ((signal = wake_next(a->signals)) != 0) {
        if (signal == SIGCHLD || signal == SIGPIPE)
            continue;
        if ((signal == SIGTERM || signal == SIGINT) && !a->is_ending)
            begin_ending(a);
        else
            pass_on(a, signal);
    }
}

static int64_t next_deadline_ms(const struct agent *a)
{
    int64_t deadline_ms = a->breath_ms > a->now_ms ? a->breath_ms : INT64_MAX;

    for (size_t i = 0; i < a->caller_count; i++) {
        const struct caller *caller = a->callers[i];

        if (!caller->is_waiting && caller->deadline_ms < deadline_ms)
            deadline_ms = caller->deadline_ms;
        if (caller->is_waiting ? !keepers_have_older(&a->keepers, a->own.attempt)
                               : caller->is_linked && link_has_more(&caller->link))
            deadline_ms = a->now_ms;
    }
    return deadline_ms;
}

static void await(struct agent *a)
{
    struct pollfd set[WAIT_CALLERS + CALLERS_MAX];
    bool is_open = a->breath_ms <= a->now_ms;
    int64_t deadline_ms = next_deadline_ms(a);

    set[WAIT_SIGNAL] = (struct pollfd){.fd = a->signals, .events = POLLIN};
    set[WAIT_DOOR] = (struct pollfd){.fd = is_open ? a->door : -1, .events = POLLIN};
    for (size_t i = 0; i < a->caller_count; i++)
        set[WAIT_CALLERS + i] =
            (struct pollfd){.fd = a->callers[i]->is_waiting ? -1 : caller_fd(a->callers[i]),
                            .events = caller_events(a->callers[i])};
    (void)poll(set, WAIT_CALLERS + a->caller_count,
               deadline_ms == INT64_MAX ? -1 : wake_patience_ms(a->now_ms, deadline_ms));
    a->now_ms = signals_now_ms();
    turn_callers(a);
    if (set[WAIT_DOOR].revents)
        let_in(a);
    take_signals(a);
}

static _Noreturn void supervise(struct agent *a, pid_t agent)
{
    struct command command = {.argv = a->options->argv, .envp = a->options->own_env, .dies_with_us = true};
    struct err err;
    int status;

    forget_all(a, NULL);
    if (is_orphan_by_now(agent, SIGTERM))
        _exit(COMMAND_EXIT_LAUNCHER);
    signals_give_back(&a->inherited);
    if (!supervise_command(&command, &status, &err)) {
        say("%s", err.msg);
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
    while (a->caller_count > 0)
        drop_caller(a, a->caller_count - 1);
    fd_auto(&a->door);
    fd_auto(&a->signals);
    psk_context_free(a->tls);
}

static bool open_agent(struct agent *a, struct err *err)
{
    sigset_t all;

    sigfillset(&all);
    return key_open_agent(a->options->env, &a->own, &a->tls, err) &&
           endpoint_listen(a->options->env, &a->door, err) && wake_open(&all, &a->signals, err) &&
           start_own(a, err);
}

bool agent_serve(const struct agent_options *options, int *ret, struct err *err)
{
    AUTO(mem) struct agent *a = NEW(struct agent);
    bool begun;

    *a = (struct agent){.options = options, .door = -1, .signals = -1, .now_ms = signals_now_ms()};
    signals_take(&a->inherited);
    (void)descend_reaper(); /* kernels without it lose orphans only */
    begun = open_agent(a, err);
    while (begun && (reap(a) || !a->is_ending))
        await(a);
    *ret = a->status;
    release(a);
    return begun;
}
