#include "vipu/model/partition.h"

#include <string.h>
#include <strings.h>

#include "base/core/mem.h"

void vipu_partition_release(struct vipu_partition *partition)
{
    if (!partition)
        return;
    mem_free(partition->id);
    mem_free(partition->cluster_id);
    mem_free(partition->allocation_id);
    mem_free(partition->ipuof_server_version);
    mem_free(partition->ipus);
    *partition = (struct vipu_partition){0};
}

void vipu_partitions_release(struct vipu_partitions *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        vipu_partition_release(&list->items[i]);
    mem_free(list->items);
    *list = (struct vipu_partitions){0};
}

void vipu_status_release(struct vipu_status *status)
{
    if (!status)
        return;
    for (size_t i = 0; i < status->error_count; i++)
        mem_free(status->errors[i]);
    mem_free(status->errors);
    mem_free(status->partition_id);
    *status = (struct vipu_status){0};
}

struct vipu_partition vipu_partition_copy(const struct vipu_partition *from)
{
    struct vipu_partition copy = *from;

    copy.id = mem_strdup(from->id);
    copy.cluster_id = mem_strdup(from->cluster_id);
    copy.allocation_id = mem_strdup(from->allocation_id);
    copy.ipuof_server_version = mem_strdup(from->ipuof_server_version);
    copy.ipus = from->size ? mem_dup(from->ipus, from->size * sizeof(from->ipus[0])) : NULL;
    return copy;
}

const struct vipu_partition *vipu_partitions_find(const struct vipu_partitions *list, const char *id)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].id, id) == 0)
            return &list->items[i];
    return NULL;
}

struct name {
    int value;
    const char *text;
};

static const struct name ready_states[] = {
    {VIPU_READY_PENDING, "PENDING"},
    {VIPU_READY_ACTIVE, "ACTIVE"},
    {VIPU_READY_REMOVED, "REMOVED"},
    {VIPU_READY_ERROR, "ERROR"},
    {0, NULL},
};

static const struct name operation_states[] = {
    {VIPU_OPERATION_IDLE, "IDLE"},         {VIPU_OPERATION_CREATING, "CREATING"},
    {VIPU_OPERATION_REMOVING, "REMOVING"}, {VIPU_OPERATION_RESETTING, "RESETTING"},
    {VIPU_OPERATION_FAILED, "FAILED"},     {0, NULL},
};

static const struct name routings[] = {
    {VIPU_ROUTING_DNC, "DNC"},
    {VIPU_ROUTING_SWNC, "SWNC"},
    {VIPU_ROUTING_BTNC, "BTNC"},
    {VIPU_ROUTING_RINGSWNC, "RINGSWNC"},
    {0, NULL},
};

static const struct name gateway_routings[] = {
    {VIPU_GATEWAY_UNDEFINED, "DEFAULT"},
    {VIPU_GATEWAY_RING, "RING"},
    {VIPU_GATEWAY_SWRING, "SWRING"},
    {0, NULL},
};

static const struct name sync_types[] = {
    {VIPU_SYNC_GS2_DEFAULT, "c2-compatible"},
    {VIPU_SYNC_GS2_INDEPENDENT_RAILS, "independent-rails"},
    {VIPU_SYNC_POD_NATIVE_DEFAULT, "pod-native-default"},
    {VIPU_SYNC_POD_NATIVE_REPLICATED_PIPELINE, "pod-native-replicated-pipeline"},
    {0, NULL},
};

static const char *name_of(const struct name *table, int value)
{
    for (; table->text; table++)
        if (table->value == value)
            return table->text;
    return "UNDEFINED";
}

static bool parse(const struct name *table, const char *text, int *ret)
{
    for (; table->text; table++) {
        if (strcasecmp(table->text, text) == 0) {
            *ret = table->value;
            return true;
        }
    }
    return false;
}

const char *vipu_ready_state_name(enum vipu_ready_state state)
{
    return name_of(ready_states, (int)state);
}

const char *vipu_operation_state_name(enum vipu_operation_state state)
{
    return name_of(operation_states, (int)state);
}

const char *vipu_routing_name(enum vipu_routing routing)
{
    return name_of(routings, (int)routing);
}

const char *vipu_gateway_routing_name(enum vipu_gateway_routing routing)
{
    return name_of(gateway_routings, (int)routing);
}

const char *vipu_sync_type_name(enum vipu_sync_type type)
{
    return name_of(sync_types, (int)type);
}

bool vipu_routing_parse(const char *text, enum vipu_routing *ret)
{
    int value;

    if (!parse(routings, text, &value))
        return false;
    *ret = (enum vipu_routing)value;
    return true;
}

bool vipu_gateway_routing_parse(const char *text, enum vipu_gateway_routing *ret)
{
    int value;

    if (!parse(gateway_routings, text, &value))
        return false;
    *ret = (enum vipu_gateway_routing)value;
    return true;
}

bool vipu_sync_type_parse(const char *text, enum vipu_sync_type *ret)
{
    int value;

    if (!parse(sync_types, text, &value))
        return false;
    *ret = (enum vipu_sync_type)value;
    return true;
}
