#include "vipu/model/pool.h"

#include <assert.h>
#include <string.h>

#include "base/core/mem.h"
#include "vipu/model/blocks.h"
#include "vipu/model/shape.h"

/* Clusters of one controller lie behind each other in one row of domains, with an unusable domain between
 * them, so that no run of consecutive domains crosses from one cluster to the next. Partitions name clusters;
 * the agents do not say which cluster they are in, so domains that no partition has named yet belong to the
 * last cluster. */
struct vipu_pool_domain {
    char *cluster_id; /* NULL in the gap between clusters */
    uint32_t topology_id;
    struct vipu_domain map;
};

static bool holds_ipus(const struct vipu_partition *partition)
{
    return partition->ready_state != VIPU_READY_REMOVED && partition->size > 0;
}

static uint32_t per_domain(struct vipu_pool_shape shape)
{
    uint32_t n = shape.ipus_per_domain ? shape.ipus_per_domain : VIPU_ILD_IPUS;

    if (n > VIPU_ILD_IPUS)
        n = VIPU_ILD_IPUS;
    return n < shape.total_ipus ? n : shape.total_ipus;
}

static bool is_same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* The clusters that partitions name, and how many domains each must have at least. */
struct clusters {
    struct named {
        const char *id; /* borrowed from the list */
        uint32_t domains;
    } * items;
    size_t count;
    uint32_t domains;
};

static struct named *cluster_of(struct clusters *clusters, const char *id)
{
    for (size_t i = 0; i < clusters->count; i++)
        if (is_same(clusters->items[i].id, id))
            return &clusters->items[i];
    clusters->items = mem_grow(clusters->items, clusters->count + 1, sizeof(clusters->items[0]));
    clusters->items[clusters->count] = (struct named){.id = id};
    return &clusters->items[clusters->count++];
}

/* False when the ids ask for more domains than the controller has IPUs for. */
static bool gather(const struct vipu_partitions *list, uint32_t domains_max, struct clusters *ret)
{
    for (size_t p = 0; p < list->count; p++) {
        const struct vipu_partition *partition = &list->items[p];
        struct named *cluster;

        if (!holds_ipus(partition))
            continue;
        cluster = cluster_of(ret, partition->cluster_id);
        if (ret->count > domains_max)
            return false;

        for (uint32_t i = 0; i < partition->size; i++) {
            uint32_t needed = partition->ipus[i].domain_topology_id;

            if (needed >= domains_max)
                return false;
            if (needed >= cluster->domains)
                cluster->domains = needed + 1;
        }
    }
    if (ret->count == 0)
        cluster_of(ret, "");
    for (size_t i = 0; i < ret->count; i++)
        ret->domains += ret->items[i].domains;
    if (ret->domains > domains_max)
        return false;
    ret->items[ret->count - 1].domains += domains_max - ret->domains;
    return true;
}

static void add_domains(struct vipu_pool_view *view, const struct clusters *clusters, uint32_t size)
{
    uint32_t left = view->total_ipus;

    view->domain_count = clusters->count - 1;
    for (size_t c = 0; c < clusters->count; c++)
        view->domain_count += clusters->items[c].domains;
    view->domains = mem_alloc(view->domain_count * sizeof(view->domains[0]));
    for (size_t c = 0, d = 0; c < clusters->count; c++, d++) {
        for (uint32_t t = 0; t < clusters->items[c].domains; t++, d++) {
            uint32_t here = left < size ? left : size;

            view->domains[d].cluster_id = mem_strdup(clusters->items[c].id ? clusters->items[c].id : "");
            view->domains[d].topology_id = t;
            view->domains[d].map.usable = vipu_block_mask(0, here);
            left -= here;
        }
    }
}

/* Index of a cluster's first domain; gather() has seen every cluster, so there is one. */
static size_t first_domain(const struct vipu_pool_view *view, const char *cluster_id)
{
    size_t d = 0;

    while (!view->domains[d].cluster_id || !is_same(view->domains[d].cluster_id, cluster_id))
        d++;
    return d;
}

/* False when an id is out of range or given twice: such ids place nothing. */
static bool mark_busy(struct vipu_pool_view *view, const struct vipu_partitions *list)
{
    for (size_t p = 0; p < list->count; p++) {
        const struct vipu_partition *partition = &list->items[p];
        struct vipu_pool_domain *first;

        if (!holds_ipus(partition))
            continue;
        first = &view->domains[first_domain(view, partition->cluster_id)];
        for (uint32_t i = 0; i < partition->size; i++) {
            const struct vipu_ipu *ipu = &partition->ipus[i];
            struct vipu_domain *map = &first[ipu->domain_topology_id].map;
            uint64_t bit = ipu->topology_id < VIPU_ILD_IPUS ? (uint64_t)1 << ipu->topology_id : 0;

            if (!(map->usable & bit) || (map->busy & bit))
                return false;
            map->busy |= bit;
        }
    }
    return true;
}

static void drop_domains(struct vipu_pool_view *view)
{
    for (size_t d = 0; d < view->domain_count; d++)
        mem_free(view->domains[d].cluster_id);
    mem_free(view->domains);
    view->domains = NULL;
    view->domain_count = 0;
}

static bool place(struct vipu_pool_view *view, const struct vipu_partitions *list, uint32_t size)
{
    struct clusters clusters = {0};
    bool placed = false;

    if (size > 0) {
        uint32_t domains_max = (view->total_ipus - 1) / size + 1;

        if (domains_max <= VIPU_POOL_MAX_DOMAINS && gather(list, domains_max, &clusters)) {
            add_domains(view, &clusters, size);
            placed = mark_busy(view, list);
        }
    }
    if (!placed)
        drop_domains(view);
    mem_free(clusters.items);
    return placed;
}

static uint32_t used_ipus(const struct vipu_partitions *list, uint32_t total)
{
    uint64_t used = 0;

    for (size_t p = 0; p < list->count; p++)
        used += holds_ipus(&list->items[p]) ? list->items[p].size : 0;
    return used < total ? (uint32_t)used : total;
}

struct vipu_pool_view vipu_pool_view_of(const struct vipu_partitions *list, struct vipu_pool_shape shape)
{
    struct vipu_pool_view view = {.total_ipus = shape.total_ipus};

    view.used_ipus = used_ipus(list, shape.total_ipus);
    view.free_ipus = view.total_ipus - view.used_ipus;
    view.ipus_per_domain = per_domain(shape);
    view.placed = place(&view, list, view.ipus_per_domain);
    return view;
}

struct vipu_pool_view vipu_pool_view_copy(const struct vipu_pool_view *from)
{
    struct vipu_pool_view copy = *from;

    copy.domains = mem_dup(from->domains, from->domain_count * sizeof(*from->domains));
    for (size_t d = 0; d < copy.domain_count; d++)
        copy.domains[d].cluster_id = mem_strdup(from->domains[d].cluster_id);
    return copy;
}

void vipu_pool_view_release(struct vipu_pool_view *view)
{
    if (!view)
        return;
    drop_domains(view);
    *view = (struct vipu_pool_view){0};
}

/* Whole domains for more than 64 IPUs; 0 for a size that no controller accepts. */
static uint32_t domains_for(uint32_t size)
{
    if (!vipu_is_power_of_two(size))
        return 0;
    return size > VIPU_ILD_IPUS ? size / VIPU_ILD_IPUS : 1;
}

static struct vipu_domain *maps_of(const struct vipu_pool_view *view, bool empty)
{
    struct vipu_domain *maps = mem_grow(NULL, view->domain_count + 1, sizeof(*maps));

    for (size_t d = 0; d < view->domain_count; d++) {
        maps[d] = view->domains[d].map;
        if (empty)
            maps[d].busy = 0;
    }
    return maps;
}

static uint32_t count_fit(const struct vipu_pool_view *view, uint32_t size, bool empty)
{
    AUTO(mem) struct vipu_domain *maps = NULL;

    if (size == 0 || domains_for(size) == 0)
        return 0;
    if (!view->placed) {
        uint32_t in_one = size < VIPU_ILD_IPUS ? size : VIPU_ILD_IPUS;

        return in_one > view->ipus_per_domain ? 0 : (empty ? view->total_ipus : view->free_ipus) / size;
    }
    maps = maps_of(view, empty);
    return vipu_place_count(maps, view->domain_count, size, domains_for(size));
}

uint32_t vipu_pool_fit_count(const struct vipu_pool_view *view, uint32_t size)
{
    return count_fit(view, size, false);
}

bool vipu_pool_could_fit(const struct vipu_pool_view *view, uint32_t size)
{
    return count_fit(view, size, true) > 0;
}

static void occupy(struct vipu_pool_view *view, uint32_t size, const struct vipu_place *at)
{
    uint32_t domains = domains_for(size);
    uint64_t block;

    assert(domains > 0); /* such a size has no place */
    block = vipu_block_mask(at->start, size / domains);
    for (uint32_t d = 0; d < domains; d++)
        view->domains[at->domain + d].map.busy |= block;
}

bool vipu_pool_take(struct vipu_pool_view *view, uint32_t size)
{
    if (vipu_pool_fit_count(view, size) == 0)
        return false;
    if (view->placed) {
        AUTO(mem) struct vipu_domain *maps = maps_of(view, false);
        struct vipu_place at;

        if (!vipu_place_find(maps, view->domain_count, size, domains_for(size), &at))
            return false;
        occupy(view, size, &at);
    }
    view->used_ipus += size;
    view->free_ipus -= size;
    return true;
}

static uint32_t largest(const struct vipu_pool_view *view, bool empty)
{
    for (uint32_t bit = 32; bit-- > 0;) {
        uint32_t size = (uint32_t)1 << bit;

        if (size <= view->total_ipus && count_fit(view, size, empty) > 0)
            return size;
    }
    return 0;
}

uint32_t vipu_pool_largest_free(const struct vipu_pool_view *view)
{
    return largest(view, false);
}

uint32_t vipu_pool_capacity(const struct vipu_pool_view *view)
{
    return largest(view, true);
}

/* For each IPU of each domain the partition that has it, plus one; 0 for none. */
static uint32_t *owners_of(const struct vipu_pool_view *view, const struct vipu_partitions *list)
{
    uint32_t *owners = mem_alloc(view->domain_count * VIPU_ILD_IPUS * sizeof(*owners));

    for (size_t p = 0; p < list->count; p++) {
        const struct vipu_partition *partition = &list->items[p];
        size_t first;

        if (!holds_ipus(partition))
            continue;
        first = first_domain(view, partition->cluster_id);
        for (uint32_t i = 0; i < partition->size; i++) {
            const struct vipu_ipu *ipu = &partition->ipus[i];

            owners[(first + ipu->domain_topology_id) * VIPU_ILD_IPUS + ipu->topology_id] = (uint32_t)p + 1;
        }
    }
    return owners;
}

struct window {
    size_t domain;
    uint32_t start, length; /* IPUs of each domain */
    uint32_t domains;
};

static bool is_usable(const struct vipu_pool_view *view, const struct window *w)
{
    uint64_t block = vipu_block_mask(w->start, w->length);

    for (uint32_t d = 0; d < w->domains; d++)
        if ((view->domains[w->domain + d].map.usable & block) != block)
            return false;
    return true;
}

/* The IPUs of all partitions that touch the window; each is in `blocker`, once, in the order they were met.
 */
static uint64_t window_cost(const struct vipu_partitions *list, const uint32_t *owners,
                            const struct window *w, size_t *blocker, size_t *count)
{
    uint64_t cost = 0;

    *count = 0;
    for (uint32_t d = 0; d < w->domains; d++) {
        const uint32_t *row = &owners[(w->domain + d) * VIPU_ILD_IPUS];

        for (uint32_t i = w->start; i < w->start + w->length; i++) {
            bool seen = row[i] == 0;

            for (size_t b = *count; b-- > 0 && !seen;)
                seen = blocker[b] == row[i] - 1;
            if (seen)
                continue;
            blocker[(*count)++] = row[i] - 1;
            cost += list->items[row[i] - 1].size;
        }
    }
    return cost;
}

static int by_index(const void *a, const void *b)
{
    size_t ia = *(const size_t *)a, ib = *(const size_t *)b;

    return (ia > ib) - (ia < ib);
}

static bool cheapest_window(const struct vipu_pool_view *view, const struct vipu_partitions *list,
                            const uint32_t *owners, uint32_t size, size_t *scratch, struct window *ret)
{
    struct window w = {.domains = domains_for(size)};
    uint64_t best = UINT64_MAX;

    assert(w.domains > 0); /* the caller has looked */
    w.length = size / w.domains;
    for (w.domain = 0; w.domain + w.domains <= view->domain_count; w.domain++) {
        for (w.start = 0; w.start < VIPU_ILD_IPUS; w.start += w.length) {
            size_t count;
            uint64_t cost;

            if (!is_usable(view, &w))
                continue;
            cost = window_cost(list, owners, &w, scratch, &count);
            if (cost < best) {
                best = cost;
                *ret = w;
            }
        }
    }
    return best != UINT64_MAX;
}

size_t vipu_pool_blockers(const struct vipu_pool_view *view, const struct vipu_partitions *list,
                          uint32_t size, size_t *blocker)
{
    AUTO(mem) uint32_t *owners = NULL;
    struct window window;
    size_t count = 0;

    if (!view->placed || domains_for(size) == 0)
        return 0;
    owners = owners_of(view, list);
    if (!cheapest_window(view, list, owners, size, blocker, &window))
        return 0;
    window_cost(list, owners, &window, blocker, &count);
    qsort(blocker, count, sizeof(*blocker), by_index);
    return count;
}
