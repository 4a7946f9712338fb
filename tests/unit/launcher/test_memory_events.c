#include "launcher/process/memory_events.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "launcher/poprun/host/remove_tree.h"
#include "lib/check.h"

/* The files are as in torvalds/linux: memory.events as in Documentation/admin-guide/cgroup-v2.rst,
 * memory.oom_control as mem_cgroup_oom_control_read in mm/memcontrol-v1.c prints it, and the lines of
 * /proc/self/cgroup as in cgroups(7). */
#define EVENTS(oom_kill) "low 0\nhigh 0\nmax 17\noom 3\noom_kill " oom_kill "\noom_group_kill 0\n"
#define CONTROL(oom_kill) "oom_kill_disable 0\nunder_oom 0\noom_kill " oom_kill "\n"
#define V1_GROUPS "5:devices:/kubepods/pod1/a\n4:memory:/kubepods/pod1/a\n1:name=systemd:/kubepods\n0::/\n"

static void write_file(const char *root, const char *path, const char *text)
{
    AUTO(mem) char *whole = mem_printf("%s/%s", root, path);
    struct err err;

    for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(whole, 0700);
        *slash = '/';
    }
    CHECK_OK(file_write(whole, 0600, slice_of(text), &err), err);
}

TEST(processes_that_were_killed_for_memory_are_counted)
{
    static const struct {
        const char *groups, *file, *text;
        uint32_t count;
    } rows[] = {
        /* in a container with a cgroup namespace, and on a host */
        {"0::/\n", "sys/fs/cgroup/memory.events", EVENTS("2"), 2},
        {"0::/user.slice/a\n", "sys/fs/cgroup/user.slice/a/memory.events", EVENTS("1"), 1},
        /* in a container: its group is mounted where the paths of the node begin */
        {V1_GROUPS, "sys/fs/cgroup/memory/memory.oom_control", CONTROL("3"), 3},
        {V1_GROUPS, "sys/fs/cgroup/memory/kubepods/pod1/a/memory.oom_control", CONTROL("4"), 4},
        /* nothing to read: an old kernel, no group */
        {V1_GROUPS, "sys/fs/cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n", 0},
        {"", "sys/fs/cgroup/memory.events", EVENTS("5"), 0},
        {"0::/\n", "sys/fs/cgroup/memory.events", "oom_kill many\n", 0},
    };

    CHECK_ROWS (row, rows) {
        char root[] = "/tmp/memory-events-XXXXXX";

        CHECK(mkdtemp(root) != NULL);
        write_file(root, "proc/self/cgroup", row->groups);
        write_file(root, row->file, row->text);
        CHECK_INT_EQ(memory_events_oom_kills(root), row->count);
        CHECK_INT_EQ(memory_events_oom_kills_since(root, 1), row->count > 1 ? row->count - 1 : 0);
        CHECK(remove_tree(root));
    }
}
