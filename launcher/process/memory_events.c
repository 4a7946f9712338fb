#include "launcher/process/memory_events.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "base/io/oom_kills.h"

#define GROUPS_MAX_BYTES 65536u

/* `mark` begins the group's path in its line of /proc/self/cgroup. */
static const struct version {
    const char *mark, *mount, *file;
} versions[] = {
    {":memory:", "/sys/fs/cgroup/memory", "memory.oom_control"}, /* v1, alone or beside v2 */
    {"0::", "/sys/fs/cgroup", "memory.events"},                  /* v2 */
};

/* Outside containers the group is somewhere below the mount. In a container it is mounted alone, but with v1
 * the path is the one on the node. */
static bool read_version(const char *root, const struct version *version, const char *group, uint32_t *ret)
{
    AUTO(mem) char *below = mem_printf("%s%s%s/%s", root, version->mount, group, version->file);
    AUTO(mem) char *alone = mem_printf("%s%s/%s", root, version->mount, version->file);

    return oom_kills_read(below, ret) || oom_kills_read(alone, ret);
}

uint32_t memory_events_oom_kills(const char *root)
{
    AUTO(mem) char *path = mem_printf("%s/proc/self/cgroup", root);
    AUTO(str) struct str groups = {0};
    AUTO(strv) struct strv lines = {0};
    uint32_t count = 0;
    struct err err;

    if (!file_read(path, GROUPS_MAX_BYTES, &groups, &err))
        return 0;
    strv_split(str_text(&groups), '\n', &lines);
    for (size_t v = 0; v < COUNT_OF(versions); v++)
        for (size_t i = 0; i < lines.count; i++) {
            const char *mark = strstr(lines.items[i], versions[v].mark);

            if (mark && read_version(root, &versions[v], mark + strlen(versions[v].mark), &count))
                return count;
        }
    return 0;
}

uint32_t memory_events_oom_kills_since(const char *root, uint32_t before)
{
    uint32_t now = memory_events_oom_kills(root); /* 0 also if no file can be opened now */

    return now > before ? now - before : 0;
}
