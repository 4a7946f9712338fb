#include "launcher/poprun/guard.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/poprun/mpirun.h"
#include "launcher/process/descend.h"

#define PATIENCE_MS 2000

static int run_in_child(const struct guarded *guarded, pid_t guard)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    (void)descend_reaper();
    return getppid() == guard ? guarded->run(guarded->ctx) : 1;
}

/* The keys of a terminal reach the runner without us. */
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

bool guard_run(const struct guarded *guarded, int *ret, struct err *err)
{
    pid_t guard = getpid(), runner;
    int wait_status;

    mpirun_block_signals();
    (void)descend_reaper();
    runner = fork();
    if (runner < 0)
        return err_errno(err, errno, "cannot start a process for the run");
    if (runner == 0)
        _exit(run_in_child(guarded, guard));
    wait_status = await(runner);
    descend_end(PATIENCE_MS);
    if (WIFEXITED(wait_status)) {
        *ret = WEXITSTATUS(wait_status);
        return true;
    }
    guarded->clean_up(guarded->ctx);
    *ret = 128 + WTERMSIG(wait_status);
    return true;
}
