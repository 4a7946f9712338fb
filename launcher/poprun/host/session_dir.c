#include "launcher/poprun/host/session_dir.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "launcher/poprun/host/remove_tree.h"

static bool is_named(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && (str_has_prefix(slash + 1, "ompi.") || str_has_prefix(slash + 1, "prted."));
}

/* Version 4 has one directory around those of all runs of a user, which remains while there are others. */
void session_dir_remove(const char *path)
{
    const char *slash = strrchr(path, '/');
    AUTO(mem) char *around = mem_strndup(path, slash ? (size_t)(slash - path) : 0);

    if (!is_named(path) && !is_named(around))
        return;
    (void)remove_tree(path);
    if (is_named(around))
        (void)rmdir(around);
}

/* Versions 4 and 5 name it differently. */
void session_dir_remove_local(const char *folder, pid_t mpirun)
{
    char host[256] = "";
    AUTO(mem) char *old = NULL;
    AUTO(mem) char *new = mem_printf("%s/ompi.%d", folder, (int)mpirun);

    (void)gethostname(host, sizeof(host) - 1);
    old = mem_printf("%s/ompi.%.*s.%u/pid.%d", folder, (int)strcspn(host, "."), host, (unsigned)geteuid(),
                     (int)mpirun);
    session_dir_remove(old);
    session_dir_remove(new);
}
