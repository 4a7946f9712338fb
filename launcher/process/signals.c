#include "launcher/process/signals.h"

#include <stddef.h>
#include <time.h>

void signals_block(struct signals *ret_inherited)
{
    sigset_t all;
    struct sigaction fallback = {0};

    /* An inherited SIG_IGN for SIGCHLD would make the kernel discard exit statuses. */
    fallback.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &fallback, &ret_inherited->child);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &ret_inherited->mask);
}

void signals_restore(const struct signals *inherited)
{
    sigaction(SIGCHLD, &inherited->child, NULL);
    sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
}

int64_t signals_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct timespec until(int64_t deadline_ms)
{
    int64_t left = deadline_ms - signals_now_ms();

    if (left < 0)
        left = 0;
    return (struct timespec){.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000};
}

/* Both calls fail only with EAGAIN, at the deadline, and EINTR, after a stop. */
int signals_next(int64_t deadline_ms)
{
    sigset_t all;
    int signal = -1;

    sigfillset(&all);
    while (signal < 0) {
        if (deadline_ms >= 0) {
            struct timespec left = until(deadline_ms);

            signal = sigtimedwait(&all, NULL, &left);
        } else {
            signal = sigwaitinfo(&all, NULL);
        }
        if (signal < 0 && deadline_ms >= 0 && signals_now_ms() >= deadline_ms)
            return 0;
    }
    return signal;
}

void signals_stop_group(void)
{
    sigset_t stop;

    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    kill(0, SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, NULL);
    sigprocmask(SIG_BLOCK, &stop, NULL);
}
