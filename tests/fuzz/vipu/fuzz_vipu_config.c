/* vipu-server's configuration: rejected with a sentence, or complete. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "vipu/server/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct server_config config;
    struct strv problems = {0};

    if (server_config_parse((struct slice){(const char *)bytes, len}, "config", &config, &problems)) {
        assert(problems.count == 0 && config.clusters.count > 0 && config.listen && config.storage);
        for (size_t c = 0; c < config.clusters.count; c++)
            assert(config.clusters.items[c].allocation_count > 0);
    } else {
        assert(problems.count > 0);
    }
    server_config_release(&config);
    strv_release(&problems);
    return 0;
}
