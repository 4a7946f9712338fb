#include "vipu/model/inventory.h"

#include "base/core/mem.h"

void vipu_allocation_list_release(struct vipu_allocation_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        mem_free(list->items[i].id);
        mem_free(list->items[i].cluster_id);
        strv_release(&list->items[i].agents);
    }
    mem_free(list->items);
    *list = (struct vipu_allocation_list){0};
}

static void release_cluster(struct vipu_cluster_entry *cluster)
{
    for (size_t d = 0; d < cluster->domain_count; d++)
        strv_release(&cluster->domains[d].agents);
    mem_free(cluster->domains);
    mem_free(cluster->id);
    mem_free(cluster->topology);
    mem_free(cluster->cluster_topology);
}

void vipu_cluster_list_release(struct vipu_cluster_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        release_cluster(&list->items[i]);
    mem_free(list->items);
    *list = (struct vipu_cluster_list){0};
}

void vipu_capacity_release(struct vipu_capacity *capacity)
{
    mem_free(capacity->fits);
    *capacity = (struct vipu_capacity){0};
}
