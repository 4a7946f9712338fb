#include "launcher/poprun/mpirun.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "launcher/inpod/descend.h"
#include "launcher/poprun/story.h"

#define ORPHAN_PATIENCE_MS 2000

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

void mpirun_watched(sigset_t *ret)
{
    sigemptyset(ret);
    sigaddset(ret, SIGCHLD);
    for (size_t i = 0; i < COUNT_OF(passed_on); i++)
        sigaddset(ret, passed_on[i]);
}

void mpirun_block_signals(void)
{
    struct sigaction fallback = {.sa_handler = SIG_DFL};
    sigset_t set;

    /* An inherited SIG_IGN for SIGCHLD would throw exit statuses away. */
    sigaction(SIGCHLD, &fallback, NULL);
    mpirun_watched(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static bool is_program(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

bool mpirun_find(const char *path, char **ret, struct err *err)
{
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; *at;) {
        size_t len = strcspn(at, ":");
        AUTO(mem) char *candidate = mem_printf("%.*s/mpirun", (int)len, at);

        if (len && is_program(candidate)) {
            *ret = TAKE(candidate);
            return true;
        }
        at += len + (at[len] == ':');
    }
    return err_set(err, ERR_NOT_FOUND,
                   "there is no mpirun in PATH; install Open MPI (Debian: openmpi-bin) or put the folder of "
                   "its mpirun into PATH");
}

char *mpirun_program(const char *path)
{
    char real[PATH_MAX];
    const char *target = realpath(path, real) ? real : path, *slash = strrchr(target, '/');

    return mem_strdup(slash ? slash + 1 : target);
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
        if (!plan_drops(*entry) && !has_name_of(&plan->variables, *entry))
            strv_push(env, *entry);
}

/* In the child. Without us mpirun is told to end, and ends what it has started. */
static void become(char **argv, char **envp, pid_t parent, pid_t *noted)
{
    sigset_t set;

    *noted = getpid();
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    mpirun_watched(&set);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    if (getppid() == parent)
        (void)execve(argv[0], argv, envp);
    _exit(errno == ENOENT ? 127 : 126);
}

static int status_of(int wait_status)
{
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

/* True when it is over; other children are orphans that ended. */
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

/* What a terminal's key sends reaches mpirun without us; a second request to end is an order. */
static void pass_on(const siginfo_t *signal, pid_t mpirun, unsigned *requests)
{
    bool is_request = signal->si_signo == SIGINT || signal->si_signo == SIGTERM;

    if (is_request && ++*requests > 1)
        (void)kill(mpirun, SIGKILL);
    else if (signal->si_code != SI_KERNEL)
        (void)kill(mpirun, signal->si_signo);
}

/* When the guard was killed the time to end is short. */
static void await(pid_t mpirun, pid_t guard, int *ret)
{
    unsigned requests = 0;
    siginfo_t signal;
    sigset_t set;

    mpirun_watched(&set);
    while (!reap(mpirun, ret)) {
        if (sigwaitinfo(&set, &signal) < 0 || signal.si_signo == SIGCHLD)
            continue;
        if (getppid() != guard) {
            descend_end(ORPHAN_PATIENCE_MS);
            *ret = 128 + SIGKILL;
            return;
        }
        pass_on(&signal, mpirun, &requests);
    }
}

bool mpirun_run(struct plan *plan, const struct journal *journal, pid_t *noted, int *ret, struct err *err)
{
    AUTO(strv) struct strv env = {0};
    pid_t self = getpid(), guard = getppid(), mpirun;

    fill_environment(plan, &env);
    char **argv = strv_argv(&plan->argv), **envp = strv_argv(&env);
    mpirun = fork();
    if (mpirun < 0)
        return err_errno(err, errno, "cannot start mpirun");
    if (mpirun == 0)
        become(argv, envp, self, noted);
    story_waiting(journal, mpirun);
    await(mpirun, guard, ret);
    descend_end(ORPHAN_PATIENCE_MS);
    story_end(journal, mpirun, *ret);
    return true;
}
