#include "launcher/poprun/run/cleanup.h"

#include <stdio.h>
#include <sys/mman.h>

#include "base/core/mem.h"
#include "launcher/poprun/plan/plan.h"
#include "launcher/poprun/host/session_dir.h"
#include "launcher/poprun/host/remove_tree.h"
#include "vipu/client/sync_client.h"

struct cleanup *cleanup_new(void)
{
    void *place =
        mmap(NULL, sizeof(struct cleanup), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return place == MAP_FAILED ? NULL : place;
}

void cleanup_note(char *place, size_t size, const char *text)
{
    (void)snprintf(place, size, "%s", text);
}

static void remove_directory(const char *path, const struct run_log *log)
{
    if (!remove_tree(path))
        run_log_write(log, RUN_LOG_WARNING, "Cannot remove the executable cache %s", path);
}

/* Some of several hosts may be this one, or share its storage; watchers clean up the others. */
static void remove_cache(struct cleanup *left, const struct run_log *log)
{
    if (left->cache_hosts == 0)
        remove_directory(left->cache_dir, log);
    for (uint32_t host = 0; host < left->cache_hosts; host++) {
        AUTO(mem) char *path = plan_host_cache(left->cache_dir, host);

        remove_directory(path, log);
    }
    left->cache_dir[0] = '\0';
}

static void remove_partition(char *id, const struct vipu_endpoint *endpoint, uint32_t timeout_s,
                             const struct run_log *log)
{
    struct vipu_sync_client *client = vipu_sync_new(endpoint, "poprun/" IPU_OPERATOR_VERSION, timeout_s);
    struct err err = {0};

    run_log_write(log, RUN_LOG_DEBUG, "Removing partition %s", id);
    if (!vipu_sync_remove_and_wait(client, id, &err))
        run_log_write(log, RUN_LOG_ERROR, "Partition %s could not be removed: %s; vipu remove partition %s",
                      id, err.msg, id);
    vipu_sync_free(client);
    id[0] = '\0';
}

void cleanup_run(struct cleanup *left, const char *folder, const struct vipu_endpoint *endpoint,
                 uint32_t timeout_s, const struct run_log *log)
{
    if (left->cache_dir[0])
        remove_cache(left, log);
    if (left->mpirun)
        session_dir_remove_local(folder, left->mpirun);
    if (left->partition[0])
        remove_partition(left->partition, endpoint, timeout_s, log);
}
