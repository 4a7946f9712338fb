#include "operator/api/observed/pod_exit.h"

#include <signal.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/api/observed/log_tail.h"

static int signal_of_status(int exit_code)
{
    return exit_code > 128 && exit_code < 128 + NSIG ? exit_code - 128 : 0;
}

int pod_exit_signal(const struct pod *pod)
{
    struct failed_rank rank;

    if (pod->exit_signal)
        return pod->exit_signal;
    if (log_tail_failed_rank(pod->message, &rank))
        return rank.signal ? rank.signal : signal_of_status(pod->exit_code);
    return log_tail_is_of_mpirun(pod->message) ? 0 : signal_of_status(pod->exit_code);
}

char *pod_exit_describe_status(int exit_code, int signal)
{
    int number = signal ? signal : signal_of_status(exit_code);
    const char *name = number ? sigabbrev_np(number) : NULL;

    if (name)
        return mem_printf("was killed by SIG%s", name);
    return number ? mem_printf("was killed by signal %d", number)
                  : mem_printf("exited with code %d", exit_code);
}

char *pod_exit_describe(const struct pod *pod)
{
    int signal = pod_exit_signal(pod);
    AUTO(mem) char *how = signal ? pod_exit_describe_status(0, signal) : NULL;

    return how ? mem_printf("%s (exit code %d)", how, pod->exit_code)
               : mem_printf("exited with code %d", pod->exit_code);
}
