/* vipu's configuration files. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "vipu/cli/args/hcl.h"

static void count(void *ctx, const char *key, const char *value, unsigned line)
{
    assert(*key && value && line > 0);
    ++*(size_t *)ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct strv problems = {0};
    size_t settings = 0;
    bool good = hcl_parse((struct slice){(const char *)bytes, len}, "file", count, &settings, &problems);

    assert(good == (problems.count == 0) && settings <= len);
    strv_release(&problems);
    return 0;
}
