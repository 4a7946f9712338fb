/* What namespaces have used for their shares, as the queue counts it, for those who read it. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/mem.h"

struct share {
    const char *ns;      /* borrowed */
    uint64_t used_ipu_s; /* decayed, and what runs is charged as a whole */
    uint32_t weight;
};

struct share_list {
    struct share *items; /* owned; those that have used most first */
    size_t count;
    uint64_t others_ipu_s; /* used by namespaces whose names are not known */
    int64_t half_life_s;   /* 0: there are no shares, and no items */
};

void share_list_sort(struct share_list *list);
/* Of all that was used. */
uint32_t share_percent(const struct share_list *list, const struct share *share);
void share_list_release(struct share_list *list);
DEFINE_AUTO(share_list);
