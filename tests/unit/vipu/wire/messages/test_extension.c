/* Bytes that are no message of the extension service. tests/vipu/cli/test_cli_inventory.py has every field.
 */
#include "lib/check.h"

#include "base/core/mem.h"
#include "vipu/wire/messages/extension.h"
#include "vipu/wire/messages/requests.h"

TEST(bytes_that_are_no_reply)
{
    AUTO(vipu_allocation_list) struct vipu_allocation_list allocations = {0};
    AUTO(vipu_cluster_list) struct vipu_cluster_list clusters = {0};
    AUTO(vipu_capacity) struct vipu_capacity capacity = {0};
    static const struct slice rubbish = {"\xff\xff\xff", 3}, many = {"\x0a\x00\x0a\x00\x0a\x00", 6};
    static const struct slice vast = {"\x0a\x08\x22\x06\x10\xff\xff\xff\xff\x0f", 10};
    AUTO(arena) struct arena arena = {.budget = WIRE_REQUEST_BUDGET};
    struct err err;

    CHECK_ERR(wire_get_allocations(rubbish, WIRE_EXTENSION_BUDGET, &allocations, &err), err, ERR_IO);
    CHECK_ERR(wire_get_clusters(rubbish, WIRE_EXTENSION_BUDGET, &clusters, &err), err, ERR_IO);
    CHECK_ERR(wire_get_capacity(rubbish, WIRE_EXTENSION_BUDGET, &capacity, &err), err, ERR_IO);
    CHECK_ERR(wire_get_clusters(vast, WIRE_EXTENSION_BUDGET, &clusters, &err), err, ERR_IO);
    /* Small on the wire, large in memory. */
    CHECK_ERR(wire_get_allocations(many, 100, &allocations, &err), err, ERR_IO);
    CHECK_ERR(wire_get_nothing(rubbish, &arena, &err), err, ERR_INVALID);
}
