/* Any POPLAR_TARGET_OPTIONS, and behind a line end any options of a partition: either they are rejected with
 * a sentence, or what comes out of both is read again, and as the stronger of the two stays what it is. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "launcher/poprun/plan/target_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    AUTO(mem) char *environment = mem_strndup((const char *)bytes, len);
    char *partition = strchr(environment, '\n');
    AUTO(mem) char *once = NULL, *twice = NULL, *alone = NULL;
    struct err err = {0};

    if (partition)
        *partition++ = '\0';
    if (!target_options_merge(environment, partition, NULL, &once, &err)) {
        assert(err.msg[0]);
        return 0;
    }
    assert(target_options_read(environment, &alone, &err));
    assert(target_options_merge(once, partition, NULL, &twice, &err));
    assert(strcmp(once, twice) == 0);
    return 0;
}
