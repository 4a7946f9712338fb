/* Any file as a kubeconfig: it names a server, or one sentence says what is wrong with it. No program is run.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "operator/kube/auth/config_loader.h"
#include "operator/kube/auth/kubeconfig.h"

static const char *no_environment(const char *name)
{
    (void)name;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const struct client_config_options options = {.env = no_environment};
    AUTO(fd) int file = memfd_create("kubeconfig", MFD_CLOEXEC);
    AUTO(mem) char *path = mem_printf("/proc/self/fd/%d", file);
    struct client_config config = {0};
    struct err err;

    if (file < 0 || write(file, bytes, len) != (ssize_t)len)
        abort();
    if (kubeconfig_load(path, &options, &config, &err))
        assert(config.server && *config.server);
    else
        assert(err.msg[0]);
    client_config_release(&config);
    return 0;
}
