#include "vipu/tools/discovery/discovery.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "vipu/tools/discovery/discover_controller.h"
#include "vipu/tools/discovery/discover_files.h"

void discovery_release(struct discovery *discovery)
{
    if (!discovery)
        return;
    for (size_t i = 0; i < discovery->count; i++)
        gcd_view_release(&discovery->views[i]);
    mem_free(discovery->views);
    vipu_agents_release(&discovery->agents);
    *discovery = (struct discovery){0};
}

const struct gcd_view *discovery_active(const struct discovery *discovery)
{
    return discovery->count && discovery->views[0].active ? &discovery->views[0] : NULL;
}

void discovery_add_take(struct discovery *discovery, struct gcd_view *view)
{
    discovery->views = mem_grow(discovery->views, discovery->count + 1, sizeof(*discovery->views));
    discovery->views[discovery->count++] = *view;
    *view = (struct gcd_view){0};
}

static int compare_views(const void *a, const void *b)
{
    const struct gcd_view *left = a, *right = b;
    int by_name = vipu_name_compare(left->partition, right->partition);

    if (left->active != right->active)
        return left->active ? -1 : 1;
    if (by_name)
        return by_name;
    return (left->gcd > right->gcd) - (left->gcd < right->gcd);
}

bool discover(const struct partition_source *source, const struct discovery_options *options,
              struct discovery *ret, struct err *err)
{
    AUTO(discovery) struct discovery found = {0};
    bool ok = false;

    switch (partition_source_kind(source)) {
    case SOURCE_FILE:
        ok = discover_file(source->config_path, &found, err);
        break;
    case SOURCE_CONTROLLER:
        ok = discover_controller(source, options, &found, err);
        break;
    case SOURCE_FOLDERS:
        ok = discover_folders(source, options, &found, err);
        break;
    }
    if (!ok)
        return false;
    if (found.count)
        qsort(found.views, found.count, sizeof(*found.views), compare_views);
    *ret = found;
    found = (struct discovery){0};
    return true;
}
