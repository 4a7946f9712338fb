#include "launcher/process/supervise.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/process/terminal.h"

#define LINGER_MS 500
#define ENDING_MS 2000
#define NEVER (-1)

enum stage {
    STAGE_RUNNING,   /* the command runs, or there is none */
    STAGE_LINGERING, /* it ended by itself; what it left behind may end by itself */
    STAGE_ENDING,    /* SIGTERM was sent to what was left */
    STAGE_PATIENT,   /* SIGTERM came and the command has ended: wait for the rest */
    STAGE_DONE,
};

struct supervisor {
    enum stage stage;
    int64_t deadline_ms; /* of the stage, or NEVER */
    pid_t command;       /* 0: none */
    pid_t group;         /* the command's; 0 once it is empty, because its id may be reused then */
    int status;
    bool asked; /* SIGTERM came */
    bool strays_signalled;
};

static void signal_group(struct supervisor *s, int signal)
{
    if (s->group && kill(-s->group, signal) < 0 && errno == ESRCH)
        s->group = 0;
}

/* A stopped process must run to handle it. */
static void ask_group(struct supervisor *s)
{
    signal_group(s, SIGTERM);
    signal_group(s, SIGCONT);
}

static void signal_everyone(struct supervisor *s, int signal)
{
    if (getpid() == 1)
        (void)kill(-1, signal);
    else
        signal_group(s, signal);
}

static void enter(struct supervisor *s, enum stage stage, int64_t ms)
{
    s->stage = stage;
    s->deadline_ms = ms == NEVER ? NEVER : signals_now_ms() + ms;
}

static void tell_strays(struct supervisor *s)
{
    s->strays_signalled = true;
    if (getpid() == 1)
        (void)kill(-1, SIGTERM);
}

static void command_ended(struct supervisor *s, int status)
{
    s->command = 0;
    s->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (s->asked)
        enter(s, STAGE_PATIENT, NEVER);
    else
        enter(s, STAGE_LINGERING, LINGER_MS);
}

static void continued(struct supervisor *s)
{
    if (s->group && terminal_is_foreground())
        terminal_set_foreground(s->group);
    signal_group(s, SIGCONT);
}

/* The stop key reached only the command, whose group is in the foreground. The shell that started this
 * process must see it stop as well. Where no process could continue it, the command continues, as it would
 * have as process 1. SIGSTOP is meant for the command alone. */
static void command_stopped(struct supervisor *s, int signal)
{
    if (signal == SIGSTOP || !terminal_is_there())
        return;
    signals_stop_group();
    if (signal == SIGTSTP)
        continued(s);
}

/* False if no descendants are left. */
static bool reap(struct supervisor *s)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid != s->command)
            continue;
        if (WIFSTOPPED(status))
            command_stopped(s, WSTOPSIG(status));
        else
            command_ended(s, status);
    }
    return pid == 0;
}

static void asked_to_end(struct supervisor *s)
{
    s->asked = true;
    if (s->stage == STAGE_LINGERING) {
        signal_everyone(s, SIGTERM);
        s->strays_signalled = true;
        enter(s, STAGE_PATIENT, NEVER);
    } else if (s->stage == STAGE_RUNNING) {
        ask_group(s);
    }
}

static void take_signal(struct supervisor *s, int signal)
{
    switch (signal) {
    case SIGCHLD: /* reap checks by itself */
    case SIGTTIN: /* about this process's own state at the terminal */
    case SIGTTOU:
        break;
    case SIGTERM:
        asked_to_end(s);
        break;
    case SIGCONT:
        continued(s);
        break;
    default:
        signal_group(s, signal);
    }
}

/* Outside the command's group only process 1 can reach all processes. */
static bool can_tell(const struct supervisor *s)
{
    return getpid() == 1 || s->group;
}

static void deadline_passed(struct supervisor *s)
{
    if (s->stage == STAGE_LINGERING && can_tell(s)) {
        signal_everyone(s, SIGTERM);
        enter(s, STAGE_ENDING, ENDING_MS);
    } else {
        signal_everyone(s, SIGKILL);
        enter(s, STAGE_DONE, NEVER);
    }
}

/* Processes that received SIGTERM with the group must not receive it twice: for many programs the second
 * means "now". */
static void tell_strays_after_group(struct supervisor *s)
{
    signal_group(s, 0);
    if (s->stage == STAGE_PATIENT && !s->strays_signalled && !s->group)
        tell_strays(s);
}

static void turn(struct supervisor *s)
{
    int signal = signals_next(s->deadline_ms);

    if (signal == 0)
        deadline_passed(s);
    else
        take_signal(s, signal);
}

static void supervise(struct supervisor *s)
{
    while (s->stage != STAGE_DONE) {
        bool someone = reap(s);

        if (!someone && s->stage != STAGE_RUNNING)
            break;
        tell_strays_after_group(s);
        turn(s);
    }
}

bool supervise_command(const struct command *command, int *ret, struct err *err)
{
    struct supervisor s = {.deadline_ms = NEVER};
    struct signals inherited;
    pid_t group;

    signals_block(&inherited);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L); /* kernels without it only lose orphans */
    if (!command_start(command, &inherited, &s.command, err))
        return false;
    s.group = group = s.command;
    supervise(&s);
    terminal_restore(group);
    *ret = s.status;
    return true;
}

void supervise_hold(void)
{
    struct supervisor s = {.deadline_ms = NEVER};
    struct signals inherited;
    int signal;

    signals_block(&inherited);
    do {
        signal = signals_next(NEVER);
        (void)reap(&s);
    } while (signal != SIGTERM && signal != SIGINT);
    tell_strays(&s);
    enter(&s, STAGE_PATIENT, NEVER);
    supervise(&s);
}
