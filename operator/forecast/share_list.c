#include "operator/forecast/share_list.h"

#include <stdlib.h>
#include <string.h>

static int compare_shares(const void *left, const void *right)
{
    const struct share *a = left, *b = right;

    if (a->used_ipu_s != b->used_ipu_s)
        return a->used_ipu_s > b->used_ipu_s ? -1 : 1;
    return strcmp(a->ns, b->ns);
}

void share_list_sort(struct share_list *list)
{
    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), compare_shares);
}

uint32_t share_percent(const struct share_list *list, const struct share *share)
{
    double all = (double)list->others_ipu_s;

    for (size_t i = 0; i < list->count; i++)
        all += (double)list->items[i].used_ipu_s;
    return all > 0 ? (uint32_t)((double)share->used_ipu_s * 100 / all + 0.5) : 0;
}

void share_list_release(struct share_list *list)
{
    mem_free(list->items);
    *list = (struct share_list){0};
}
