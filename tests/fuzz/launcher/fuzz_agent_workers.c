/* Any list of workers: either it is rejected with a sentence, or each has a name that is one word and no
 * option, and an address with a port; and its host file has a line for each. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "launcher/env/workers.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(const struct workers *workers)
{
    AUTO(str) struct str lines = {0};
    size_t count = 0;

    assert(workers->count);
    for (size_t i = 0; i < workers->count; i++) {
        const struct worker *worker = &workers->items[i];

        assert(*worker->name && *worker->name != '-' &&
               worker->name[strcspn(worker->name, " \t\n=,:")] == '\0');
        assert(worker->index == i && worker->address_len > 0);
        assert(workers_find(workers, worker->name)->index <= i);
    }
    workers_print_hostfile(workers, 1, &lines);
    for (size_t i = 0; i < lines.len; i++)
        count += lines.ptr[i] == '\n';
    assert(count == workers->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    AUTO(mem) char *text = mem_strndup((const char *)bytes, len);
    AUTO(workers) struct workers workers = {0};
    struct err err;

    if (workers_read(text, &workers, &err))
        check(&workers);
    else
        assert(err.msg[0]);
    return 0;
}
