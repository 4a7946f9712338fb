#include "launcher/poprun/host/host_cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "launcher/poprun/host/host_cache.h"
#include "launcher/poprun/host/session_dir.h"

#define LOOK_MS 1000
#define PATIENCE_MS 1000
#define PAUSE_MS 20

enum { WATCHERS = 2, FIRST_KEPT = STDERR_FILENO + 1 };

/* The descriptors and ids of one watcher. */
struct watched {
    struct pollfd daemon, instance; /* readable when they have ended */
    pid_t group;                    /* of the instance; 0: it has none of its own, or it is empty */
};

static void look_after_group(struct watched *watched)
{
    if (watched->group && kill(-watched->group, 0) != 0)
        watched->group = 0;
}

/* Once the instance has ended, the id of its process group may be reused as soon as the group is empty. */
static void await_daemon(struct watched *watched)
{
    struct pollfd both[] = {watched->daemon, watched->instance};

    while (poll(both, COUNT_OF(both), -1) < 0 && errno == EINTR)
        ;
    do {
        if (poll(&watched->instance, 1, 0) > 0)
            look_after_group(watched);
    } while (poll(&watched->daemon, 1, watched->group ? LOOK_MS : -1) <= 0);
}

/* SIGTERM first, then SIGKILL; programs that write into the cache must be gone before it is removed. */
static void end_group(struct watched *watched)
{
    static const int orders[] = {SIGTERM, SIGKILL};

    for (size_t i = 0; i < COUNT_OF(orders) && watched->group; i++) {
        (void)kill(-watched->group, orders[i]);
        (void)kill(-watched->group, SIGCONT);
        for (int waited = 0; waited < PATIENCE_MS && watched->group; waited += PAUSE_MS) {
            (void)poll(NULL, 0, PAUSE_MS);
            look_after_group(watched);
        }
    }
}

/* No reader of an output may have to wait for this process, so all other descriptors are closed. These get
 * the numbers from FIRST_KEPT on. */
static void keep_only(int **fds, int count)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = STDIN_FILENO; nowhere >= 0 && fd <= STDERR_FILENO; fd++)
        (void)dup2(nowhere, fd);
    for (int i = 0; i < count; i++)
        *fds[i] = fcntl(*fds[i], F_DUPFD, FIRST_KEPT + count);
    for (int i = 0; i < count; i++)
        *fds[i] = dup2(*fds[i], FIRST_KEPT + i);
    closefrom(FIRST_KEPT + count);
}

static void watch(struct watched *watched, const struct host_cleanup *cleanup)
{
    int hold = cleanup->cache_hold, *fds[] = {&watched->daemon.fd, &watched->instance.fd, &hold};

    keep_only(fds, cleanup->cache_dir ? 3 : 2);
    await_daemon(watched);
    end_group(watched);
    if (cleanup->cache_dir)
        host_cache_leave(cleanup->cache_dir, hold);
    if (cleanup->session_dir)
        session_dir_remove(cleanup->session_dir);
    _exit(EXIT_SUCCESS);
}

/* In a session of their own, because mpirun ends whole groups, and orphaned, because an instance may count
 * its children. */
static void leave(struct watched *watched, const struct host_cleanup *cleanup)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

    (void)setsid();
    for (size_t i = 0; i < COUNT_OF(ignored); i++)
        (void)signal(ignored[i], SIG_IGN);
    for (int i = 0; i < WATCHERS; i++)
        if (fork() == 0)
            watch(watched, cleanup);
    _exit(EXIT_SUCCESS);
}

static int handle_of(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

bool host_cleanup_start(const struct host_cleanup *cleanup, struct err *err)
{
    pid_t instance = getpid(), daemon = getppid(), between;
    AUTO(fd) int daemon_end = handle_of(daemon);
    AUTO(fd) int instance_end = handle_of(instance);
    struct watched watched = {.daemon = {.fd = daemon_end, .events = POLLIN},
                              .instance = {.fd = instance_end, .events = POLLIN},
                              .group = getpgrp() == instance ? instance : 0};

    if (daemon_end < 0 || instance_end < 0)
        return err_errno(err, errno, "cannot monitor the processes of this host");
    if (getppid() != daemon)
        return err_set(err, ERR_GONE, "mpirun has ended");
    between = fork();
    if (between < 0)
        return err_errno(err, errno, "out of memory for a process");
    if (between == 0)
        leave(&watched, cleanup);
    while (waitpid(between, NULL, 0) < 0 && errno == EINTR)
        ;
    return true;
}
