/*
 * The process that keeps a set of namespaces alive. It is the sandbox of every
 * pod and process 1 of every node of the local cluster: as process 1 it inherits
 * orphans, so it reaps them, and when it ends the kernel ends all the others.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signal_number)
{
    (void)signal_number;
    _exit(0);
}

static void reap(int signal_number)
{
    (void)signal_number;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

int main(void)
{
    signal(SIGTERM, end);
    signal(SIGINT, end);
    signal(SIGCHLD, reap);
    for (;;)
        pause();
}
