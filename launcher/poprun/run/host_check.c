#include "launcher/poprun/run/host_check.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "launcher/poprun/plan/rsh_agent.h"

#define PATIENCE_MS 60000
#define LOOK_MS 50
#define PRINTED_MAX_BYTES ((size_t)4096)

enum { AT_ONCE = 32 };

/* The check of one host. */
struct probe {
    const char *host;
    pid_t pid;          /* -1: there is nothing to wait for */
    int fd;             /* its standard error */
    struct str printed; /* the beginning of that */
};

static bool is_own_address(const struct sockaddr *address)
{
    struct ifaddrs *all = NULL;
    bool found = false;

    if (getifaddrs(&all) != 0)
        return false;
    for (const struct ifaddrs *at = all; at && !found; at = at->ifa_next)
        found = at->ifa_addr && at->ifa_addr->sa_family == AF_INET &&
                memcmp(&((const struct sockaddr_in *)(const void *)at->ifa_addr)->sin_addr,
                       &((const struct sockaddr_in *)(const void *)address)->sin_addr,
                       sizeof(struct in_addr)) == 0;
    freeifaddrs(all);
    return found;
}

static bool is_here(const char *host)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *list = NULL;
    char name[256] = "";
    bool here;

    if (gethostname(name, sizeof(name) - 1) == 0 && strcmp(name, host) == 0)
        return true;
    here = getaddrinfo(host, NULL, &hints, &list) == 0 && list && is_own_address(list->ai_addr);
    if (list)
        freeaddrinfo(list);
    return here;
}

static void fill_words(const struct strv *agent, const char *host, struct strv *words)
{
    const char *slash = strrchr(agent->items[0], '/');

    for (size_t i = 0; i < agent->count; i++)
        strv_push(words, agent->items[i]);
    if (strcmp(slash ? slash + 1 : agent->items[0], "ssh") == 0)
        strv_push(words, "-oBatchMode=yes");
    strv_push(words, host);
    strv_push(words, "true");
}

/* The child has no input and may not inherit the blocked signals. */
static int spawn(struct strv *words, int error_fd, pid_t *ret)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    int problem;

    sigemptyset(&none);
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&files, error_fd, STDERR_FILENO);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    problem = posix_spawnp(ret, words->items[0], &files, &attributes, strv_argv(words), environ);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attributes);
    return problem;
}

static void probe_start(struct probe *probe, const char *host, const struct strv *agent)
{
    AUTO(strv) struct strv words = {0};
    int ends[2], problem;

    *probe = (struct probe){.host = host, .pid = -1, .fd = -1, .printed = {.max = PRINTED_MAX_BYTES}};
    if (pipe2(ends, O_CLOEXEC) != 0) {
        (void)str_adds(&probe->printed, "no pipe is left");
        return;
    }
    fill_words(agent, host, &words);
    problem = spawn(&words, ends[1], &probe->pid);
    (void)close(ends[1]);
    probe->fd = ends[0];
    if (problem) {
        probe->pid = -1;
        (void)str_addf(&probe->printed, "%s: %s", words.items[0], strerror(problem));
    }
}

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads what is available; false at the end. */
static bool take_printed(struct probe *probe)
{
    struct pollfd ready = {.fd = probe->fd, .events = POLLIN};
    char bytes[512];
    ssize_t got;

    if (poll(&ready, 1, LOOK_MS) <= 0)
        return true;
    got = read(probe->fd, bytes, sizeof(bytes));
    if (got > 0)
        (void)str_add(&probe->printed, bytes, (size_t)got);
    return got > 0;
}

/* True if it succeeded. A background process of the agent may hold the pipe: only the agent's own end
 * counts. */
static bool probe_await(struct probe *probe, int64_t end_ms)
{
    bool open = true;
    int status = -1;

    while (waitpid(probe->pid, &status, WNOHANG) == 0) {
        if (now_ms() > end_ms) {
            (void)str_adds(&probe->printed, "\ntimed out after 60 s");
            (void)kill(probe->pid, SIGKILL);
            (void)waitpid(probe->pid, &status, 0);
            return false;
        }
        if (open)
            open = take_printed(probe);
        else
            (void)poll(NULL, 0, LOOK_MS);
    }
    while (open && poll(&(struct pollfd){.fd = probe->fd, .events = POLLIN}, 1, 0) > 0)
        open = take_printed(probe);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void probe_finish(struct probe *probe, const char *agent, int64_t end_ms, struct strv *problems)
{
    struct err err;

    if ((probe->pid < 0 || !probe_await(probe, end_ms)) &&
        !rsh_agent_explain_error(probe->host, agent, str_text(&probe->printed), &err))
        strv_push(problems, err.msg);
    fd_auto(&probe->fd);
    str_release(&probe->printed);
}

void hosts_check_reachable(const struct strv *hosts, const struct strv *agent, bool may_be_here,
                           struct strv *problems)
{
    struct probe probes[AT_ONCE];

    for (size_t at = 0; at < hosts->count;) {
        int64_t end_ms = now_ms() + PATIENCE_MS;
        size_t count = 0;

        for (; at < hosts->count && count < AT_ONCE; at++)
            if (!may_be_here || !is_here(hosts->items[at]))
                probe_start(&probes[count++], hosts->items[at], agent);
        for (size_t i = 0; i < count; i++)
            probe_finish(&probes[i], agent->items[0], end_ms, problems);
    }
}
