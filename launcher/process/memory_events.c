#include "launcher/process/memory_events.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/io/file.h"

#define GROUPS_MAX_BYTES 65536u
#define COUNTERS_MAX_BYTES 4096u

/* `mark` begins the group's path in its line of /proc/self/cgroup. Both files have a line "oom_kill N". */
static const struct version {
    const char *mark, *mount, *file;
} versions[] = {
    {":memory:", "/sys/fs/cgroup/memory", "memory.oom_control"}, /* v1, alone or beside v2 */
    {"0::", "/sys/fs/cgroup", "memory.events"},                  /* v2 */
};

static bool read_lines(const char *path, size_t max_bytes, struct strv *ret)
{
    AUTO(str) struct str text = {0};
    struct err err;

    if (!file_read(path, max_bytes, &text, &err))
        return false;
    strv_split(str_text(&text), '\n', ret);
    return true;
}

static bool read_counter(const char *path, uint32_t *ret)
{
    static const char name[] = "oom_kill ";
    AUTO(strv) struct strv lines = {0};

    if (!read_lines(path, COUNTERS_MAX_BYTES, &lines))
        return false;
    for (size_t i = 0; i < lines.count; i++)
        if (str_has_prefix(lines.items[i], name))
            return parse_u32(lines.items[i] + strlen(name), 0, UINT32_MAX, ret);
    return false;
}

/* Outside containers the group is somewhere below the mount. In a container it is mounted alone, but with v1
 * the path is the one on the node. */
static bool read_version(const char *root, const struct version *version, const char *group, uint32_t *ret)
{
    AUTO(mem) char *below = mem_printf("%s%s%s/%s", root, version->mount, group, version->file);
    AUTO(mem) char *alone = mem_printf("%s%s/%s", root, version->mount, version->file);

    return read_counter(below, ret) || read_counter(alone, ret);
}

uint32_t memory_events_oom_kills(const char *root)
{
    AUTO(mem) char *groups = mem_printf("%s/proc/self/cgroup", root);
    AUTO(strv) struct strv lines = {0};
    uint32_t count = 0;

    (void)read_lines(groups, GROUPS_MAX_BYTES, &lines);
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
