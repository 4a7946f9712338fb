#include "vipu/client/extension.h"

#include "base/core/mem.h"
#include "vipu/wire/grpc/grpc.h"
#include "vipu/wire/messages/extension.h"

#define REPLY_MAX_BYTES ((size_t)64 << 20)

bool extension_is_missing(const struct err *err)
{
    return err->code == GRPC_UNIMPLEMENTED;
}

bool extension_allocations(struct vipu_sync_client *s, struct vipu_allocation_list *ret, struct err *err)
{
    AUTO(str) struct str reply = {.max = REPLY_MAX_BYTES};

    return vipu_sync_read_message(s, WIRE_EXTENSION "ListAllocations", (struct slice){0}, &reply, err) &&
           wire_get_allocations(str_slice(&reply), WIRE_EXTENSION_BUDGET, ret, err);
}

bool extension_clusters(struct vipu_sync_client *s, struct vipu_cluster_list *ret, struct err *err)
{
    AUTO(str) struct str reply = {.max = REPLY_MAX_BYTES};

    return vipu_sync_read_message(s, WIRE_EXTENSION "ListClusters", (struct slice){0}, &reply, err) &&
           wire_get_clusters(str_slice(&reply), WIRE_EXTENSION_BUDGET, ret, err);
}

bool extension_capacity(struct vipu_sync_client *s, const char *cluster_id, const char *allocation_id,
                        struct vipu_capacity *ret, struct err *err)
{
    AUTO(str) struct str request = {0}, reply = {.max = REPLY_MAX_BYTES};

    wire_put_capacity_request(&(struct wire_place){cluster_id, allocation_id}, &request);
    return vipu_sync_read_message(s, WIRE_EXTENSION "GetCapacity", str_slice(&request), &reply, err) &&
           wire_get_capacity(str_slice(&reply), WIRE_EXTENSION_BUDGET, ret, err);
}
