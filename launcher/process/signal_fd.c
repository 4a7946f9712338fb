#include "launcher/process/signal_fd.h"

#include <errno.h>
#include <limits.h>
#include <sys/signalfd.h>
#include <unistd.h>

bool signal_fd_open(const sigset_t *signals, int *ret, struct err *err)
{
    int fd = signalfd(-1, signals, SFD_NONBLOCK | SFD_CLOEXEC);

    if (fd < 0)
        return err_errno(err, errno, "cannot wait for signals");
    *ret = fd;
    return true;
}

int signal_fd_read(int fd)
{
    struct signalfd_siginfo signal;
    ssize_t got;

    do
        got = read(fd, &signal, sizeof(signal));
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(signal) ? (int)signal.ssi_signo : 0;
}

int poll_timeout_ms(int64_t now_ms, int64_t deadline_ms)
{
    if (deadline_ms <= now_ms)
        return 0;
    return deadline_ms - now_ms < INT_MAX ? (int)(deadline_ms - now_ms) : INT_MAX;
}
