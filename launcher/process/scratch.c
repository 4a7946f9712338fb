#include "launcher/process/scratch.h"

#include <unistd.h>

#include "base/core/mem.h"

static bool is_writable(const char *dir)
{
    return dir && *dir && access(dir, W_OK | X_OK) == 0;
}

bool scratch_find(const struct envv *env, const char **ret, struct err *err)
{
    const char *const dirs[] = {SCRATCH_DIR, envv_get(env, "TMPDIR"), "/tmp"};

    for (size_t i = 0; i < COUNT_OF(dirs); i++)
        if (is_writable(dirs[i])) {
            *ret = dirs[i];
            return true;
        }
    return err_set(err, ERR_DENIED,
                   "no writable directory among " SCRATCH_DIR ", TMPDIR and /tmp; mount an emptyDir at /tmp");
}

void scratch_complete(struct envv *env)
{
    const char *dir;
    struct err err;

    if (!is_writable("/tmp") && scratch_find(env, &dir, &err))
        envv_default(env, "TMPDIR", dir);
}
