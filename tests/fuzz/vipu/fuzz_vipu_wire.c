/* The first byte chooses a decoder, the rest is its message. What decodes and encodes again must decode to
 * the same. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "vipu/wire/messages/replies.h"
#include "vipu/wire/messages/requests.h"

#define BUDGET ((size_t)4 * 1024 * 1024)

static void partitions(struct slice bytes)
{
    struct vipu_partitions first = {0}, second = {0};
    AUTO(str) struct str out = {0};
    struct err err;

    if (!wire_get_partitions(bytes, BUDGET, &first, &err))
        return;
    for (size_t i = 0; i < first.count; i++)
        wire_put_partition(&first.items[i], &out);
    if (!out.full && wire_get_partitions(str_slice(&out), SIZE_MAX, &second, &err)) {
        assert(second.count == first.count);
        for (size_t i = 0; i < first.count; i++)
            assert(strcmp(first.items[i].id, second.items[i].id) == 0 &&
                   first.items[i].size == second.items[i].size);
    }
    vipu_partitions_release(&first);
    vipu_partitions_release(&second);
}

static void agents(struct slice bytes)
{
    AUTO(vipu_agents) struct vipu_agents list = {0};
    struct err err;
    uint64_t total = 0;
    uint32_t count = 0;
    bool is_counted = wire_count_ipus(bytes, &count, &err);

    if (!wire_get_agents(bytes, BUDGET, &list, &err))
        return;
    assert(is_counted && count == list.total_ipus);
    for (size_t i = 0; i < list.count; i++)
        total += list.items[i].ipu_count;
    assert(list.total_ipus == (uint32_t)total);
}

static void others(unsigned which, struct slice bytes)
{
    AUTO(arena) struct arena arena = {.budget = BUDGET};
    AUTO(vipu_status) struct vipu_status status = {0};
    AUTO(vipu_ipuof_config) struct vipu_ipuof_config config = {0};
    AUTO(mem) char *text = NULL;
    struct vipu_requirements requirements;
    struct wire_partition_request partition;
    struct wire_ipuof_request ipuof;
    struct wire_names names;
    const char *allocation;
    struct err err;
    bool ok = true;

    switch (which % 10) {
    case 0:
        ok = wire_get_status(bytes, &status, &err);
        break;
    case 1:
        ok = wire_get_ipuof(bytes, &config, &err);
        break;
    case 2:
        ok = wire_get_version(bytes, &text, &err);
        break;
    case 3:
        ok = wire_get_create(bytes, &arena, &requirements, &err);
        break;
    case 4:
        ok = wire_get_remove(bytes, &arena, &partition, &err);
        break;
    case 5:
        ok = wire_get_ipuof_request(bytes, &arena, &ipuof, &err);
        break;
    case 6:
        ok = wire_get_attributes_request(bytes, &arena, &names, &err);
        break;
    case 7:
        ok = wire_get_list(bytes, &arena, &allocation, &err);
        break;
    case 8:
        ok = wire_get_empty(bytes, &err);
        break;
    default:
        ok = wire_get_status_request(bytes, &arena, &partition, &err);
    }
    assert(ok || err.msg[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct slice rest;

    if (len == 0)
        return 0;
    rest = (struct slice){(const char *)bytes + 1, len - 1};
    if (bytes[0] == 0)
        partitions(rest);
    else if (bytes[0] == 1)
        agents(rest);
    else
        others(bytes[0] - 2u, rest);
    return 0;
}
