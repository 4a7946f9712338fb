#include "launcher/process/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/str.h"

#define LOOK_MS 20

bool descendants_become_subreaper(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

/* The parent of a process, from the fourth field of its stat line; its name may contain anything. */
static pid_t parent_of(pid_t pid)
{
    AUTO(mem) char *path = mem_printf("/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    char line[512] = "";
    const char *name_end;
    int parent = -1;

    if (!file)
        return -1;
    (void)!fread(line, 1, sizeof(line) - 1, file);
    (void)fclose(file);
    name_end = strrchr(line, ')');
    if (!name_end || sscanf(name_end, ") %*c %d", &parent) != 1) /* NOLINT(cert-err34-c): one small number */
        return -1;
    return (pid_t)parent;
}

/* Which child of `top` the process is, or descends from; -1 if it is not a descendant at all. */
static pid_t branch_of(pid_t pid, pid_t top)
{
    for (int depth = 0; depth < 1000 && pid > 1; depth++) {
        pid_t parent = parent_of(pid);

        if (parent == top)
            return pid;
        pid = parent;
    }
    return -1;
}

static bool has(const pid_t *pids, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

void descendants_signal(int signal, const pid_t *except, size_t except_count)
{
    DIR *all = opendir("/proc");
    pid_t self = getpid();

    for (struct dirent *entry = all ? readdir(all) : NULL; entry; entry = readdir(all)) {
        uint32_t pid;
        pid_t branch = parse_u32(entry->d_name, 2, INT32_MAX, &pid) ? branch_of((pid_t)pid, self) : -1;

        if (branch > 0 && !has(except, except_count, branch))
            (void)kill((pid_t)pid, signal);
    }
    if (all)
        (void)closedir(all);
}

/* False if no children, and so no descendants, are left. */
static bool reap(void)
{
    pid_t pid;

    do {
        pid = waitpid(-1, NULL, WNOHANG);
    } while (pid > 0 || (pid < 0 && errno == EINTR));
    return pid == 0;
}

static void pause_ms(int ms)
{
    struct timespec pause = {.tv_sec = 0, .tv_nsec = (long)ms * 1000000};

    (void)nanosleep(&pause, NULL);
}

void descendants_kill(int grace_ms)
{
    if (!reap())
        return;
    descendants_signal(SIGTERM, NULL, 0);
    descendants_signal(SIGCONT, NULL, 0);
    for (int waited = 0; waited < grace_ms && reap(); waited += LOOK_MS)
        pause_ms(LOOK_MS);
    while (reap()) {
        descendants_signal(SIGKILL, NULL, 0);
        pause_ms(LOOK_MS);
    }
}
