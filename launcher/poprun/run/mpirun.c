#include "launcher/poprun/run/mpirun.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "launcher/poprun/log/run_messages.h"
#include "launcher/process/descendants.h"

#define ORPHAN_PATIENCE_MS 2000
/* Linux's limit for arguments and environment, however large the stack may be (execve(2)). */
#define COMMAND_MAX_BYTES ((size_t)6 * 1024 * 1024)
/* For what mpirun adds when it executes an instance or, in version 5, itself. */
#define COMMAND_RESERVE_BYTES ((size_t)32 * 1024)

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

void mpirun_watched(sigset_t *ret)
{
    sigemptyset(ret);
    sigaddset(ret, SIGCHLD);
    sigaddset(ret, MPIRUN_PASSED_ON);
    for (size_t i = 0; i < COUNT_OF(passed_on); i++)
        sigaddset(ret, passed_on[i]);
}

void mpirun_block_signals(void)
{
    struct sigaction fallback = {.sa_handler = SIG_DFL};
    sigset_t set;

    /* An inherited SIG_IGN for SIGCHLD would discard exit statuses. */
    sigaction(SIGCHLD, &fallback, NULL);
    mpirun_watched(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static bool is_program(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

static bool find_program(const char *path, const char *name, char **ret)
{
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; *at;) {
        size_t len = strcspn(at, ":");
        AUTO(mem) char *candidate = mem_printf("%.*s/%s", (int)len, at, name);

        if (len && is_program(candidate)) {
            *ret = TAKE(candidate);
            return true;
        }
        at += len + (at[len] == ':');
    }
    return false;
}

bool mpirun_find(const char *path, char **ret, struct err *err)
{
    return find_program(path, "mpirun", ret) ||
           err_set(err, ERR_NOT_FOUND,
                   "mpirun not found in PATH; install Open MPI (Debian: openmpi-bin) or add the directory of "
                   "its mpirun to PATH");
}

bool mpirun_finds_program(const char *path, const char *name)
{
    AUTO(mem) char *found = NULL;

    return strchr(name, '/') ? is_program(name) : find_program(path, name, &found);
}

char *mpirun_program(const char *path)
{
    char real[PATH_MAX];
    const char *target = realpath(path, real) ? real : path, *slash = strrchr(target, '/');

    return mem_strdup(slash ? slash + 1 : target);
}

bool mpirun_command_is_too_long(const struct plan *plan)
{
    long system = sysconf(_SC_ARG_MAX); /* depends on the limit of the stack */
    size_t limit = system > 0 && (size_t)system < COMMAND_MAX_BYTES ? (size_t)system : COMMAND_MAX_BYTES;
    size_t bytes = plan_command_bytes(plan) + COMMAND_RESERVE_BYTES;

    for (char **entry = environ; *entry; entry++)
        bytes += strlen(*entry) + 1 + sizeof(char *);
    return bytes > limit;
}

static bool write_all(int file, struct slice text)
{
    while (text.len) {
        ssize_t done = write(file, text.ptr, text.len);

        if (done < 0 && errno != EINTR)
            return false;
        if (done > 0)
            text = (struct slice){text.ptr + done, text.len - (size_t)done};
    }
    return lseek(file, 0, SEEK_SET) == 0;
}

bool mpirun_add_app_file(struct plan *plan, struct err *err)
{
    AUTO(str) struct str text = {0};
    int file = memfd_create("poprun-app-file", 0);

    for (size_t i = 0; i < plan->app_lines.count; i++)
        (void)str_addf(&text, "%s\n", plan->app_lines.items[i]);
    if (file < 0 || !write_all(file, str_slice(&text)))
        return err_errno(err, errno, "cannot write the application file for mpirun");
    strv_push(&plan->argv, "--app");
    strv_pushf(&plan->argv, "/proc/self/fd/%d", file);
    return true;
}

static bool has_name_of(const struct strv *entries, const char *entry)
{
    size_t len = strcspn(entry, "=");

    for (size_t i = 0; i < entries->count; i++)
        if (strncmp(entries->items[i], entry, len) == 0 && entries->items[i][len] == '=')
            return true;
    return false;
}

static void fill_environment(const struct plan *plan, struct strv *env)
{
    for (size_t i = 0; i < plan->variables.count; i++)
        strv_push(env, plan->variables.items[i]);
    for (char **entry = environ; *entry; entry++)
        if (!plan_excludes_variable(*entry) && !has_name_of(&plan->variables, *entry))
            strv_push(env, *entry);
}

struct child {
    pid_t mpirun;
    pid_t guard;
    pid_t *noted; /* shared memory for its process id */
    bool has_own_group;
    unsigned requests; /* to terminate */
    struct heard {
        unsigned from_guard, by_itself;
    } heard[NSIG];
};

/* With a terminal mpirun stays in the foreground, where it may read and receives the terminal's signals. */
static bool has_terminal(void)
{
    AUTO(fd) int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

    return terminal >= 0;
}

/* If mpirun is called by a path with folders, it puts its own folder before the instances' PATH. That is
 * right for one in a special location, which other hosts would not find; but the system's folder would hide
 * what precedes it, such as the python3 of a virtual environment. */
static char *name_for_itself(char *path)
{
    static const char *const system[] = {"/usr/bin/", "/bin/", "/usr/local/bin/"};
    char *name = strrchr(path, '/') + 1;

    for (size_t i = 0; i < COUNT_OF(system); i++)
        if (strncmp(path, system[i], (size_t)(name - path)) == 0 && !system[i][name - path])
            return name;
    return path;
}

/* In the child. If this process dies, mpirun gets SIGTERM, and ends what it has started. Where possible it
 * has its own process group, so that a signal to this group reaches it only once, through this process: it
 * takes a second one as an order to end at once. */
static void become(const struct child *child, char **argv, char **envp, pid_t parent)
{
    char *path = argv[0];
    int cause = 0;
    sigset_t set;

    *child->noted = getpid();
    argv[0] = name_for_itself(path);
    if (child->has_own_group)
        (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    mpirun_watched(&set);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    if (getppid() == parent) {
        (void)execve(path, argv, envp);
        cause = errno;
        (void)fprintf(stderr, "POPRUN ERROR: cannot start %s: %s\n", path, strerror(cause));
    }
    _exit(cause == ENOENT ? 127 : 126);
}

static int status_of(int wait_status)
{
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

/* True when mpirun has ended; other children are orphans. */
static bool reap(pid_t mpirun, int *ret)
{
    int wait_status;
    pid_t pid;
    bool over = false;

    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) {
        if (pid != mpirun)
            continue;
        *ret = status_of(wait_status);
        over = true;
    }
    return over;
}

/* A signal to the whole group arrives directly and once more from the guard, which received it too. So both
 * ways are counted, and only a higher count is a new signal. */
static bool is_news(struct child *child, int number, bool is_from_guard)
{
    struct heard *heard = &child->heard[number];
    unsigned before = heard->from_guard > heard->by_itself ? heard->from_guard : heard->by_itself;

    return ++*(is_from_guard ? &heard->from_guard : &heard->by_itself) > before;
}

/* A terminal's signals reach mpirun directly; a second request to end must not be ignored. */
static void pass_on(struct child *child, const siginfo_t *signal)
{
    bool is_from_guard = signal->si_signo == MPIRUN_PASSED_ON;
    int number = is_from_guard ? signal->si_value.sival_int : signal->si_signo;

    if ((is_from_guard && signal->si_pid != child->guard) || !is_news(child, number, is_from_guard))
        return;
    if ((number == SIGINT || number == SIGTERM) && ++child->requests > 1)
        (void)kill(child->mpirun, SIGKILL);
    else if (child->has_own_group || signal->si_code != SI_KERNEL)
        (void)kill(child->mpirun, number);
}

/* If the guard was killed, the time to end is short. */
static void await(struct child *child, int *ret)
{
    siginfo_t signal;
    sigset_t set;

    mpirun_watched(&set);
    while (!reap(child->mpirun, ret)) {
        if (sigwaitinfo(&set, &signal) < 0 || signal.si_signo == SIGCHLD)
            continue;
        if (getppid() != child->guard) {
            descendants_kill(ORPHAN_PATIENCE_MS);
            *ret = 128 + SIGKILL;
            return;
        }
        pass_on(child, &signal);
    }
}

bool mpirun_run(struct plan *plan, const struct run_log *log, pid_t *noted, int *ret, struct err *err)
{
    AUTO(strv) struct strv env = {0};
    struct child child = {.guard = getppid(), .noted = noted, .has_own_group = !has_terminal()};
    pid_t self = getpid();

    fill_environment(plan, &env);
    char **argv = strv_argv(&plan->argv), **envp = strv_argv(&env);
    child.mpirun = fork();
    if (child.mpirun < 0)
        return err_errno(err, errno, "cannot start mpirun");
    if (child.mpirun == 0)
        become(&child, argv, envp, self);
    run_message_waiting(log, child.mpirun);
    await(&child, ret);
    descendants_kill(ORPHAN_PATIENCE_MS);
    run_message_end(log, child.mpirun, *ret);
    return true;
}
