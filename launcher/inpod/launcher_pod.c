#include "launcher/inpod/launcher_pod.h"

#include "base/core/mem.h"
#include "base/io/file.h"
#include "launcher/env/identity.h"
#include "launcher/env/jobenv.h"
#include "launcher/env/mpienv.h"
#include "launcher/env/workers.h"
#include "launcher/process/scratch.h"

bool launcher_pod_is_here(const struct envv *env)
{
    const char *hosts = envv_get(env, WORKERS_ENV_HOSTS);

    return hosts && *hosts;
}

static bool read_slots(const struct envv *env, uint32_t *ret, struct err *err)
{
    const char *text = envv_get(env, WORKERS_ENV_SLOTS);

    *ret = 1;
    if (!text || !*text || parse_u32(text, 1, WORKERS_SLOTS_MAX, ret))
        return true;
    return err_set(err, ERR_INVALID, WORKERS_ENV_SLOTS "=\"%.40s\": expected a number from 1 to %u", text,
                   WORKERS_SLOTS_MAX);
}

/* Named after the attempt, so that two launchers that share /tmp do not overwrite each other's. */
static bool write_hostfile(const struct envv *env, const struct workers *workers, char **ret, struct err *err)
{
    AUTO(str) struct str text = {0};
    struct identity identity;
    const char *dir;
    uint32_t slots;

    if (!read_slots(env, &slots, err) || !identity_read(env, &identity, err) || !scratch_find(env, &dir, err))
        return false;
    workers_print_hostfile(workers, slots, &text);
    AUTO(mem) char *path = mem_printf("%s/hosts-%s-%u", dir, identity.job, identity.attempt);
    if (!file_write(path, 0644, str_slice(&text), err))
        return false;
    *ret = TAKE(path);
    return true;
}

bool launcher_pod_complete(struct envv *env, const char *dir, struct err *err)
{
    AUTO(workers) struct workers workers = {0};
    AUTO(mem) char *hostfile = NULL;

    if (!jobenv_complete_launcher(env, dir, err) ||
        !workers_read(envv_get(env, WORKERS_ENV_HOSTS), &workers, err) ||
        !write_hostfile(env, &workers, &hostfile, err))
        return false;
    scratch_complete(env);
    mpienv_complete(env,
                    &(struct mpienv){.hostfile = hostfile, .dir = dir ? dir : ".", .hosts = workers.count});
    return true;
}
