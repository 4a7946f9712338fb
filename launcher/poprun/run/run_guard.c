#include "launcher/poprun/run/run_guard.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/poprun/run/mpirun.h"
#include "launcher/process/descendants.h"

#define PATIENCE_MS 2000

static int run_in_child(const struct guarded_run *guarded_run, pid_t guard)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    (void)descendants_become_subreaper();
    return getppid() == guard ? guarded_run->run(guarded_run->ctx) : 1;
}

/* A terminal's signals reach the runner directly. */
static int await(pid_t runner)
{
    siginfo_t signal;
    sigset_t set;
    int wait_status;

    for (;;) {
        pid_t pid = waitpid(runner, &wait_status, WNOHANG);

        if (pid == runner)
            return wait_status;
        mpirun_watched(&set);
        if (sigwaitinfo(&set, &signal) > 0 && signal.si_signo != SIGCHLD && signal.si_code != SI_KERNEL)
            (void)sigqueue(runner, MPIRUN_PASSED_ON, (union sigval){.sival_int = signal.si_signo});
    }
}

bool guard_run(const struct guarded_run *guarded_run, int *ret, struct err *err)
{
    pid_t guard = getpid(), runner;
    int wait_status;

    mpirun_block_signals();
    (void)descendants_become_subreaper();
    runner = fork();
    if (runner < 0)
        return err_errno(err, errno, "cannot start a process for the run");
    if (runner == 0)
        _exit(run_in_child(guarded_run, guard));
    wait_status = await(runner);
    descendants_kill(PATIENCE_MS);
    if (WIFEXITED(wait_status)) {
        *ret = WEXITSTATUS(wait_status);
        return true;
    }
    guarded_run->clean_up(guarded_run->ctx);
    *ret = 128 + WTERMSIG(wait_status);
    return true;
}
