#include "base/io/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/core/mem.h"

/* interval of checks for its end while it prints nothing */
#define LOOK_MS 20

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int spawn(const struct capture *capture, int out_fd, pid_t *ret)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    int problem;

    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawnattr_init(&attributes);
    if (!capture->keeps_input)
        (void)posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&files, out_fd, STDOUT_FILENO);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &usual);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    problem = posix_spawnp(ret, capture->program, &files, &attributes, capture->argv, capture->envp);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attributes);
    return problem;
}

/* Reads what is available within that time; false at the end, or above the limit. */
static bool take(int fd, int wait_ms, size_t max_bytes, struct str *out)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    char bytes[4096];
    ssize_t got;

    if (poll(&ready, 1, wait_ms) <= 0)
        return true;
    got = read(fd, bytes, sizeof(bytes));
    if (got > 0)
        (void)str_add(out, bytes, (size_t)got);
    return got > 0 && out->len <= max_bytes;
}

/* A child of the program may keep the pipe open: only the program's own end counts. */
static bool await(const struct capture *capture, pid_t pid, int fd, struct str *out, int *wait_status)
{
    int64_t until = now_ms() + capture->limit_ms;
    bool open = true;

    while (waitpid(pid, wait_status, WNOHANG) == 0) {
        if (now_ms() > until || out->len > capture->max_bytes) {
            (void)kill(pid, SIGKILL);
            (void)waitpid(pid, wait_status, 0);
            return false;
        }
        if (open)
            open = take(fd, LOOK_MS, capture->max_bytes, out);
        else
            (void)poll(NULL, 0, LOOK_MS);
    }
    while (open && poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) > 0)
        open = take(fd, 0, capture->max_bytes, out);
    return out->len <= capture->max_bytes;
}

bool capture_run(const struct capture *capture, struct str *out, int *ret_status, struct err *err)
{
    AUTO(str) struct str printed = {.max = capture->max_bytes + 4096};
    AUTO(fd) int reader = -1;
    int ends[2], wait_status = 0, problem;
    pid_t pid;
    bool good;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_errno(err, errno, "cannot create a pipe for %s", capture->program);
    reader = ends[0];
    problem = spawn(capture, ends[1], &pid);
    (void)close(ends[1]);
    if (problem)
        return err_errno(err, problem, "cannot run %s", capture->program);
    good = await(capture, pid, reader, &printed, &wait_status);
    if (!good && printed.len > capture->max_bytes)
        return err_set(err, ERR_INVALID, "output of %s exceeds %zu bytes", capture->program,
                       capture->max_bytes);
    if (!good)
        return err_set(err, ERR_TIMEOUT, "%s timed out after %lld s", capture->program,
                       (long long)(capture->limit_ms / 1000));
    *ret_status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
    (void)str_add(out, printed.ptr, printed.len);
    return true;
}
