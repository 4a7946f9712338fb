#include "operator/reconcile/decide/model/view.h"

struct instance_view *view_live(const struct job_view *view, size_t index)
{
    size_t low = 0, high = view->live_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (view->live[middle].index == index)
            return &view->live[middle];
        if (view->live[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

void view_add_idle(const struct job_view *view, struct indexset *ret)
{
    indexset_add_range(ret, 0, (uint32_t)view->instance_count);
    for (size_t i = 0; i < view->live_count; i++)
        indexset_remove(ret, view->live[i].index);
}
