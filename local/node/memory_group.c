#include "local/node/memory_group.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/io/file.h"
#include "base/io/oom_kills.h"

#define FILE_MAX_BYTES 65536u

static const struct memory_group_version {
    const char *mark, *mount; /* `mark` begins this process's group in its line of /proc/self/cgroup */
    const char *limit, *events;
    bool is_beside; /* a group with processes has no groups below it */
} versions[] = {
    {":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control", false},
    {"0::", "/sys/fs/cgroup", "memory.max", "memory.events", true},
};

static bool write_text(const char *dir, const char *name, const char *text)
{
    AUTO(mem) char *path = mem_printf("%s/%s", dir, name);
    AUTO(fd) int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool make_in(const char *above, const struct memory_group_version *version, const char *bytes,
                    struct memory_group *ret)
{
    AUTO(mem) char *dir = mem_printf("%s/ipu-run-%d", above, (int)getpid());
    AUTO(mem) char *processes = mem_printf("%s/cgroup.procs", dir);

    if (mkdir(dir, 0755) != 0)
        return false;
    ret->processes = write_text(dir, version->limit, bytes) ? open(processes, O_WRONLY | O_CLOEXEC) : -1;
    if (ret->processes < 0) {
        (void)rmdir(dir);
        return false;
    }
    /* As a kubelet does, where the kernel can: no swap, and the container ends as a whole. */
    (void)write_text(dir, "memory.swap.max", "0");
    (void)write_text(dir, "memory.oom.group", "1");
    ret->version = version;
    ret->dir = TAKE(dir);
    return true;
}

static const char *own_group(const struct strv *lines, const char *mark)
{
    for (size_t i = 0; i < lines->count; i++) {
        const char *found = strstr(lines->items[i], mark);

        if (found)
            return found + strlen(mark);
    }
    return NULL;
}

void memory_group_make(struct memory_group *ret, uint64_t bytes)
{
    AUTO(mem) char *text = mem_printf("%llu", (unsigned long long)bytes);
    AUTO(str) struct str groups = {0};
    AUTO(strv) struct strv lines = {0};
    struct err err;

    *ret = (struct memory_group){.processes = -1};
    if (!file_read("/proc/self/cgroup", FILE_MAX_BYTES, &groups, &err))
        return;
    strv_split(str_text(&groups), '\n', &lines);
    for (size_t v = 0; v < COUNT_OF(versions); v++) {
        const char *group = own_group(&lines, versions[v].mark);
        const char *end = group ? versions[v].is_beside ? strrchr(group, '/') : strchr(group, '\0') : NULL;
        AUTO(mem)
        char *above = end ? mem_printf("%s%.*s", versions[v].mount, (int)(end - group), group) : NULL;

        if (above && make_in(above, &versions[v], text, ret))
            return;
    }
}

void memory_group_join(const struct memory_group *group)
{
    if (group->dir)
        (void)!write(group->processes, "0", 1);
}

static bool has_killed(const struct memory_group *group)
{
    AUTO(mem) char *path = mem_printf("%s/%s", group->dir, group->version->events);
    uint32_t count = 0;

    return oom_kills_read(path, &count) && count > 0;
}

bool memory_group_remove(struct memory_group *group)
{
    bool killed = group->dir && has_killed(group);

    fd_auto(&group->processes);
    if (group->dir)
        (void)rmdir(group->dir);
    mem_free(TAKE(group->dir));
    return killed;
}
