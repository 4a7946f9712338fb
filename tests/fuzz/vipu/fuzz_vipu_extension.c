/* The first byte chooses a decoder of our extension service, the rest is its message. What decodes and
 * encodes again must decode to the same; what was decoded can be shown. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "vipu/cli/output/show_inventory.h"
#include "vipu/wire/messages/extension.h"

#define BUDGET ((size_t)4 * 1024 * 1024)

static void allocations(struct slice bytes)
{
    AUTO(vipu_allocation_list) struct vipu_allocation_list first = {0}, second = {0};
    AUTO(str) struct str out = {0}, shown = {0};
    struct err err;

    if (!wire_get_allocations(bytes, BUDGET, &first, &err))
        return;
    for (size_t i = 0; i < first.count; i++)
        wire_put_allocation(&first.items[i], &out);
    assert(out.full || wire_get_allocations(str_slice(&out), SIZE_MAX, &second, &err));
    for (size_t i = 0; i < second.count; i++)
        assert(strcmp(first.items[i].id, second.items[i].id) == 0 &&
               first.items[i].agents.count == second.items[i].agents.count);
    show_allocations(&first, bytes.len % 2, &shown);
}

static void clusters(struct slice bytes)
{
    AUTO(vipu_cluster_list) struct vipu_cluster_list first = {0}, second = {0};
    AUTO(str) struct str out = {0}, shown = {0};
    struct err err;

    if (!wire_get_clusters(bytes, BUDGET, &first, &err))
        return;
    for (size_t i = 0; i < first.count; i++)
        wire_put_cluster(&first.items[i], &out);
    assert(out.full || wire_get_clusters(str_slice(&out), SIZE_MAX, &second, &err));
    for (size_t i = 0; i < second.count; i++)
        assert(strcmp(first.items[i].topology, second.items[i].topology) == 0 &&
               first.items[i].domain_count == second.items[i].domain_count);
    show_clusters(&first, bytes.len % 2, &shown);
}

static void capacity(struct slice bytes)
{
    AUTO(vipu_capacity) struct vipu_capacity first = {0}, second = {0};
    AUTO(str) struct str out = {0}, shown = {0};
    char name[] = "a";
    const struct vipu_allocation_entry entry = {.id = name, .cluster_id = name};
    struct err err;

    if (!wire_get_capacity(bytes, BUDGET, &first, &err))
        return;
    wire_put_capacity(&first, &out);
    assert(out.full || wire_get_capacity(str_slice(&out), SIZE_MAX, &second, &err));
    assert(out.full || first.fit_count == second.fit_count);
    show_allocation(&entry, &first, bytes.len % 2, &shown);
}

static void requests(struct slice bytes)
{
    AUTO(arena) struct arena arena = {.budget = BUDGET};
    struct wire_place place;
    struct err err;

    if (wire_get_capacity_request(bytes, &arena, &place, &err))
        assert(place.cluster_id && place.allocation_id);
    if (!wire_get_nothing(bytes, &arena, &err))
        assert(err.msg[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static void (*const decoders[])(struct slice bytes) = {allocations, clusters, capacity, requests};

    if (len > 0)
        decoders[bytes[0] % COUNT_OF(decoders)]((struct slice){(const char *)bytes + 1, len - 1});
    return 0;
}
