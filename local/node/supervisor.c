#include "local/node/supervisor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "local/node/memory_group.h"
#include "local/node/sandbox.h"

#define LOOK_MS 5

struct supervisor {
    const struct container_spec *spec;
    int socket, out, err;
    int children; /* signalfd */
    struct memory_group memory;
    pid_t command, probe;
    bool is_over, is_killed;
    int status;
};

static void send_bytes(const struct supervisor *s, const void *bytes, size_t len)
{
    (void)send(s->socket, bytes, len, MSG_NOSIGNAL);
}

static void report(const struct supervisor *s, char what, int status)
{
    char message[1 + sizeof(int)] = {what};

    memcpy(message + 1, &status, sizeof(int));
    send_bytes(s, message, sizeof(message));
}

_Noreturn static void fail(const struct supervisor *s, const char *why)
{
    AUTO(mem) char *message = mem_printf("%c%s", REPORT_FAILED, why);
    struct memory_group memory = s->memory;

    (void)memory_group_remove(&memory);
    send_bytes(s, message, strlen(message));
    _exit(1);
}

/* ---- starting ---- */

static void forget_signals(void)
{
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Why there is no command; code 0: there is. */
struct failure {
    int code;
    bool is_cwd; /* not the command's own */
};

/* In the new process. `failed` closes when the command is there, or brings the reason why it is not. */
_Noreturn static void become(const struct supervisor *s, char *const *argv, int out, int err, int failed)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct failure failure = {0};

    forget_signals();
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    memory_group_join(&s->memory);
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(out < 0 ? null : out, STDOUT_FILENO);
    (void)dup2(err < 0 ? null : err, STDERR_FILENO);
    environ = (char **)s->spec->envp; /* whose PATH counts */
    failure.is_cwd = chdir(s->spec->cwd) != 0;
    if (!failure.is_cwd)
        (void)execvp(argv[0], argv);
    failure.code = errno;
    (void)!write(failed, &failure, sizeof(failure));
    _exit(127);
}

/* -1: ret says why. Without the handlers of fork(3): libuv's would close descriptors that it had in the
 * program that this process was made from. */
static pid_t start(const struct supervisor *s, char *const *argv, int out, int err, struct failure *ret)
{
    int failed[2];
    pid_t pid;

    *ret = (struct failure){0};
    if (pipe2(failed, O_CLOEXEC) != 0 || (pid = _Fork()) < 0) {
        ret->code = errno;
        return -1;
    }
    if (pid == 0)
        become(s, argv, out, err, failed[1]);
    close(failed[1]);
    if (read(failed[0], ret, sizeof(*ret)) != sizeof(*ret))
        *ret = (struct failure){0};
    close(failed[0]);
    if (ret->code == 0)
        return pid;
    (void)waitpid(pid, NULL, 0);
    return -1;
}

/* ---- ending ---- */

/* The parent of a process is the second number after its name, which may contain anything. */
static pid_t parent_of(const char *pid)
{
    AUTO(mem) char *path = mem_printf("/proc/%s/stat", pid);
    AUTO(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char line[512] = "";
    const char *name_end;
    int parent = -1;

    if (fd < 0 || read(fd, line, sizeof(line) - 1) <= 0)
        return -1;
    name_end = strrchr(line, ')');
    if (!name_end || sscanf(name_end, ") %*c %d", &parent) != 1) /* NOLINT(cert-err34-c): one small number */
        return -1;
    return (pid_t)parent;
}

/* Orphans become children of this process, their subreaper, so that killing all children again and again
 * reaches every descendant. */
static void kill_children(void)
{
    DIR *all = opendir("/proc");
    pid_t self = getpid();

    for (struct dirent *entry = all ? readdir(all) : NULL; entry; entry = readdir(all)) {
        uint32_t pid;

        if (parse_u32(entry->d_name, 2, INT32_MAX, &pid) && parent_of(entry->d_name) == self)
            (void)kill((pid_t)pid, SIGKILL);
    }
    if (all)
        (void)closedir(all);
}

static void note_end(struct supervisor *s, pid_t pid, int status)
{
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

    if (pid == s->probe) {
        s->probe = 0;
        report(s, REPORT_PROBED, code);
    }
    if (pid != s->command)
        return;
    s->is_over = true;
    s->status = s->is_killed ? 128 + SIGKILL : code; /* whatever podman makes of it */
}

/* False: there are no children. */
static bool reap(struct supervisor *s)
{
    pid_t pid;
    int status;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0 || (pid < 0 && errno == EINTR))
        note_end(s, pid, status);
    return pid == 0;
}

static void run_remove(struct supervisor *s)
{
    struct failure ignored;
    pid_t pid = start(s, s->spec->remove, -1, -1, &ignored);
    int status;

    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
}

static void kill_all(struct supervisor *s)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};

    if (s->spec->remove)
        run_remove(s);
    while (reap(s)) {
        kill_children();
        (void)nanosleep(&pause, NULL);
    }
}

/* ---- orders ---- */

static void obey(struct supervisor *s, char order)
{
    struct failure ignored;

    if (order == ORDER_TERMINATE)
        (void)kill(s->command, SIGTERM);
    if (order == ORDER_KILL) {
        s->is_killed = true;
        kill_all(s);
    }
    if (order != ORDER_PROBE || s->probe)
        return;
    s->probe = start(s, s->spec->probe, -1, -1, &ignored);
    if (s->probe < 0) {
        s->probe = 0;
        report(s, REPORT_PROBED, 127);
    }
}

static void serve(struct supervisor *s)
{
    struct pollfd sources[] = {{.fd = s->socket, .events = POLLIN}, {.fd = s->children, .events = POLLIN}};
    struct signalfd_siginfo info;
    char order;

    while (!s->is_over) {
        if (poll(sources, COUNT_OF(sources), -1) < 0)
            continue;
        if (sources[1].revents)
            (void)!read(s->children, &info, sizeof(info));
        (void)reap(s);
        if (sources[0].revents && !s->is_over) {
            if (recv(s->socket, &order, 1, 0) != 1)
                break; /* ipu-run is gone */
            obey(s, order);
        }
    }
    kill_all(s);
}

static void watch_children(struct supervisor *s)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    s->children = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* None of those of the program that it was made from. */
static void close_others(const struct supervisor *s)
{
    int kept[] = {STDERR_FILENO, s->socket, s->out, s->err};

    qsort(kept, COUNT_OF(kept), sizeof(kept[0]), by_number);
    for (size_t i = 1; i < COUNT_OF(kept); i++)
        if (kept[i] > kept[i - 1] + 1)
            (void)close_range((unsigned)kept[i - 1] + 1, (unsigned)kept[i] - 1, 0);
    (void)close_range((unsigned)kept[COUNT_OF(kept) - 1] + 1, ~0u, 0);
}

void supervisor_run(const struct container_spec *spec, int socket, int out, int err)
{
    struct supervisor s = {.spec = spec, .socket = socket, .out = out, .err = err, .memory.processes = -1};
    struct err why = {0};
    struct failure failure;

    (void)setsid(); /* signals of the terminal are for ipu-run, which ends the pods in order */
    forget_signals();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)prctl(PR_SET_NAME, "ipu-run-pod");
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    close_others(&s);
    watch_children(&s);
    if (spec->memory_bytes)
        memory_group_make(&s.memory, spec->memory_bytes); /* before the sandbox hides where it is */
    if (spec->sandbox && !sandbox_enter(spec->sandbox, &why))
        fail(&s, why.msg);
    s.command = start(&s, spec->argv, s.out, s.err, &failure);
    if (s.command < 0) {
        err_errno(&why, failure.code,
                  failure.is_cwd ? "cannot enter the working directory %s" : "cannot start %s",
                  failure.is_cwd ? spec->cwd : spec->argv[0]);
        fail(&s, why.msg);
    }
    close(s.out);
    close(s.err);
    serve(&s);
    report(&s, memory_group_remove(&s.memory) ? REPORT_OOM_KILLED : REPORT_ENDED, s.status);
    _exit(0);
}
