#include "launcher/inpod/launcher_pod.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "launcher/env/identity.h"
#include "launcher/env/jobenv.h"
#include "launcher/env/mpienv.h"
#include "launcher/env/rankenv.h"
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
    return err_set(err, ERR_INVALID,
                   "spec.launcher.slotsPerWorker (" WORKERS_ENV_SLOTS
                   ") must be a whole number from 1 to %u, got \"%.40s\"",
                   WORKERS_SLOTS_MAX, text);
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

/* Worker 0 of the instance. Ranks need no DNS to find it. */
static char *master_of(const struct envv *env, const struct workers *workers)
{
    AUTO(str) struct str text = {0};

    workers_print_address(&workers->items[0], &text);
    return mem_printf(strchr(str_text(&text), ':') ? "[%s]:%s" : "%s:%s", str_text(&text), rankenv_port(env));
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
    AUTO(mem) char *master = master_of(env, &workers);
    mpienv_complete(
        env, &(struct mpienv){
                 .hostfile = hostfile, .dir = dir ? dir : ".", .master = master, .hosts = workers.count});
    return true;
}
