#include "vipu/placement/pool.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "vipu/placement/eviction_set.h"
#include "vipu/placement/placement_candidates.h"
#include "vipu/model/shape.h"

/* The clusters of one controller are laid out one after the other in one row of domains, with an empty
 * domain between them, so that no run of consecutive domains crosses a cluster's end. Partitions name
 * clusters; the agents do not say which cluster they are in, so domains that no partition has named yet
 * belong to the last cluster. */
struct vipu_pool_cluster {
    char *id;
    size_t first; /* domain in the row */
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

/* False if the ids need more domains than the controller has IPUs for. */
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

/* Lays out the clusters and returns the IPUs that exist: one mask per domain of the row. The caller frees
 * it. */
static uint64_t *lay_out(struct vipu_pool_view *view, const struct clusters *clusters, size_t *ret_count)
{
    uint32_t left = view->total_ipus;
    uint64_t *usable;
    size_t d = 0, count = clusters->count - 1;

    for (size_t c = 0; c < clusters->count; c++)
        count += clusters->items[c].domains;
    usable = mem_alloc(count * sizeof(*usable));
    view->cluster_count = clusters->count;
    view->clusters = mem_alloc(clusters->count * sizeof(*view->clusters));
    for (size_t c = 0; c < clusters->count; c++, d++) {
        const char *id = clusters->items[c].id;

        view->clusters[c] = (struct vipu_pool_cluster){mem_strdup(id ? id : ""), d};
        for (uint32_t t = 0; t < clusters->items[c].domains; t++, d++) {
            uint32_t here = left < view->ipus_per_domain ? left : view->ipus_per_domain;

            usable[d] = vipu_block_mask(0, here);
            left -= here;
        }
    }
    *ret_count = count;
    return usable;
}

/* A cluster's first domain; gather() has seen every cluster, so there is one. */
static size_t first_domain(const struct vipu_pool_view *view, const char *cluster_id)
{
    size_t c = 0;

    while (!is_same(view->clusters[c].id, cluster_id))
        c++;
    return view->clusters[c].first;
}

/* Removes the partitions' IPUs from `free`. False if an id is out of range or given twice: then the
 * placement is unknown. */
static bool take_listed(const struct vipu_pool_view *view, const struct vipu_partitions *list, uint64_t *free)
{
    for (size_t p = 0; p < list->count; p++) {
        const struct vipu_partition *partition = &list->items[p];
        uint64_t *first;

        if (!holds_ipus(partition))
            continue;
        first = &free[first_domain(view, partition->cluster_id)];
        for (uint32_t i = 0; i < partition->size; i++) {
            const struct vipu_ipu *ipu = &partition->ipus[i];

            if (!(first[ipu->domain_topology_id] & vipu_ipu_bit(ipu)))
                return false;
            first[ipu->domain_topology_id] &= ~vipu_ipu_bit(ipu);
        }
    }
    return true;
}

static void drop_row(struct vipu_pool_view *view)
{
    for (size_t c = 0; c < view->cluster_count; c++)
        mem_free(view->clusters[c].id);
    mem_free(view->clusters);
    view->clusters = NULL;
    view->cluster_count = 0;
    vipu_blocks_release(&view->blocks);
    mem_free(view->cordoned);
    view->cordoned = NULL;
}

/* Whole domains for more than 64 IPUs; 0 for an invalid size. */
static uint32_t domains_for(uint32_t size)
{
    if (!vipu_is_power_of_two(size))
        return 0;
    return size > VIPU_ILD_IPUS ? size / VIPU_ILD_IPUS : 1;
}

uint32_t vipu_pool_fit_count(const struct vipu_pool_view *view, uint32_t size)
{
    uint32_t in_one = size < VIPU_ILD_IPUS ? size : VIPU_ILD_IPUS;

    if (size == 0 || domains_for(size) == 0)
        return 0;
    if (view->placed)
        return vipu_blocks_count(&view->blocks, size, domains_for(size));
    return in_one > view->ipus_per_domain ? 0 : view->free_ipus / size;
}

uint32_t vipu_pool_largest_free(const struct vipu_pool_view *view)
{
    for (uint32_t bit = 32; bit-- > 0;) {
        uint32_t size = (uint32_t)1 << bit;

        if (size <= view->total_ipus && vipu_pool_fit_count(view, size) > 0)
            return size;
    }
    return 0;
}

uint32_t vipu_pool_capacity(const struct vipu_pool_view *view)
{
    return view->capacity;
}

/* A size fits wherever a larger one does. */
bool vipu_pool_could_fit(const struct vipu_pool_view *view, uint32_t size)
{
    return vipu_is_power_of_two(size) && size <= view->capacity;
}

static bool place_in(struct vipu_pool_view *view, const struct vipu_partitions *list,
                     const struct clusters *clusters)
{
    size_t count;
    AUTO(mem) uint64_t *free = lay_out(view, clusters, &count);

    vipu_blocks_init(&view->blocks, count);
    vipu_blocks_set_run(&view->blocks, 0, count, free);
    view->placed = true;
    view->capacity = vipu_pool_largest_free(view); /* nothing is taken yet */
    view->placed = take_listed(view, list, free);
    if (view->placed)
        vipu_blocks_set_run(&view->blocks, 0, count, free);
    else
        drop_row(view);
    return view->placed;
}

static bool place(struct vipu_pool_view *view, const struct vipu_partitions *list)
{
    struct clusters clusters = {0};
    bool placed = false;

    if (view->ipus_per_domain > 0) {
        uint32_t domains_max = (view->total_ipus - 1) / view->ipus_per_domain + 1;

        placed = domains_max <= VIPU_POOL_MAX_DOMAINS && gather(list, domains_max, &clusters) &&
                 place_in(view, list, &clusters);
    }
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
    struct vipu_pool_view view = {
        .total_ipus = shape.total_ipus,
        .free_ipus = shape.total_ipus,
        .ipus_per_domain = per_domain(shape),
    };

    if (!place(&view, list))
        view.capacity = vipu_pool_largest_free(&view);
    view.used_ipus = used_ipus(list, shape.total_ipus);
    view.free_ipus -= view.used_ipus;
    return view;
}

struct vipu_pool_view vipu_pool_view_copy(const struct vipu_pool_view *from)
{
    struct vipu_pool_view copy = *from;

    copy.clusters = mem_dup(from->clusters, from->cluster_count * sizeof(*from->clusters));
    for (size_t c = 0; c < copy.cluster_count; c++)
        copy.clusters[c].id = mem_strdup(from->clusters[c].id);
    copy.blocks = vipu_blocks_copy(&from->blocks);
    copy.cordoned = from->cordoned ? mem_dup(from->cordoned, from->blocks.domain_count) : NULL;
    return copy;
}

void vipu_pool_view_release(struct vipu_pool_view *view)
{
    if (!view)
        return;
    drop_row(view);
    *view = (struct vipu_pool_view){0};
}

/* ---- domains ---- */

/* Clusters are separated by an empty domain, which is none of theirs. */
bool vipu_pool_next_domain(const struct vipu_pool_view *view, size_t *at, struct vipu_pool_domain *ret)
{
    size_t c = 0, row = *at;
    uint32_t before;

    while (c + 1 < view->cluster_count && view->clusters[c + 1].first <= row + 1)
        c++;
    if (row < (c < view->cluster_count ? view->clusters[c].first : 0))
        row++;
    if (!view->placed || row >= view->blocks.domain_count)
        return false;
    before = (uint32_t)(row - c) * view->ipus_per_domain;
    *ret = (struct vipu_pool_domain){
        .cluster = view->clusters[c].id,
        .index = (uint32_t)(row - view->clusters[c].first),
        .size = view->total_ipus - before < view->ipus_per_domain ? view->total_ipus - before
                                                                  : view->ipus_per_domain,
        .free = view->blocks.free[row],
        .is_cordoned = view->cordoned && view->cordoned[row],
        .row = row,
    };
    *at = row + 1;
    return true;
}

void vipu_pool_cordon_domain(struct vipu_pool_view *view, const struct vipu_pool_domain *domain)
{
    if (!view->cordoned)
        view->cordoned = mem_alloc(view->blocks.domain_count * sizeof(*view->cordoned));
    if (view->cordoned[domain->row])
        return;
    view->cordoned[domain->row] = true;
    view->cordoned_ipus += domain->size;
    view->free_ipus -= (uint32_t)__builtin_popcountll(view->blocks.free[domain->row]);
    vipu_blocks_set_free(&view->blocks, domain->row, 0);
}

void vipu_pool_cordon(struct vipu_pool_view *view)
{
    struct vipu_pool_domain domain;

    for (size_t at = 0; vipu_pool_next_domain(view, &at, &domain);)
        vipu_pool_cordon_domain(view, &domain);
    view->is_cordoned = true;
    view->cordoned_ipus = view->total_ipus;
    view->free_ipus = 0;
}

static const struct vipu_pool_cluster *cluster_at(const struct vipu_pool_view *view, size_t row)
{
    size_t c = view->cluster_count;

    while (view->clusters[--c].first > row)
        ;
    return &view->clusters[c];
}

const char *vipu_pool_part_ipus(const struct vipu_pool_view *view, const struct vipu_pool_part *part,
                                struct vipu_ipu *ipus)
{
    const struct vipu_pool_cluster *cluster = cluster_at(view, part->domain);
    uint32_t count = 0;

    for (uint32_t d = 0; d < part->domain_count; d++)
        for (uint64_t left = part->ipus; left; left &= left - 1, count++)
            ipus[count] = (struct vipu_ipu){.domain_topology_id = part->domain - (uint32_t)cluster->first + d,
                                            .domain_routing_id = d,
                                            .topology_id = (uint32_t)__builtin_ctzll(left),
                                            .routing_id = count};
    return cluster->id;
}

const char *vipu_pool_find(const struct vipu_pool_view *view, uint32_t size, struct vipu_ipu *ipus)
{
    uint32_t domains = domains_for(size);
    struct vipu_pool_part part = {.domain_count = domains};
    struct vipu_place at;

    if (!view->placed || domains == 0 || !vipu_blocks_find(&view->blocks, size, domains, &at))
        return NULL;
    part.domain = (uint32_t)at.domain;
    part.ipus = vipu_block_mask(at.start, size / domains);
    return vipu_pool_part_ipus(view, &part, ipus);
}

bool vipu_pool_reserve(struct vipu_pool_view *view, uint32_t size)
{
    struct vipu_place at;

    if (vipu_pool_fit_count(view, size) == 0)
        return false;
    if (view->placed && vipu_blocks_find(&view->blocks, size, domains_for(size), &at))
        vipu_blocks_reserve(&view->blocks, &at, size, domains_for(size));
    view->used_ipus += size;
    view->free_ipus -= size;
    return true;
}

/* ---- places ---- */

static void add_part(struct vipu_pool_part *parts, size_t *count, struct vipu_pool_part part)
{
    struct vipu_pool_part *last = *count ? &parts[*count - 1] : NULL;

    if (last && last->ipus == part.ipus && last->domain + last->domain_count == part.domain)
        last->domain_count++;
    else
        parts[(*count)++] = part;
}

size_t vipu_pool_parts(const struct vipu_pool_view *view, const struct vipu_partition *partition,
                       struct vipu_pool_part *parts)
{
    size_t count = 0,
           first = view->placed && holds_ipus(partition) ? first_domain(view, partition->cluster_id) : 0;
    struct vipu_pool_part part = {.domain_count = 1};

    for (uint32_t i = 0; view->placed && holds_ipus(partition) && i < partition->size; i++) {
        uint32_t domain = (uint32_t)first + partition->ipus[i].domain_topology_id;

        if (part.ipus && part.domain != domain) {
            add_part(parts, &count, part);
            part.ipus = 0;
        }
        part.domain = domain;
        part.ipus |= vipu_ipu_bit(&partition->ipus[i]);
    }
    if (part.ipus)
        add_part(parts, &count, part);
    return count;
}

char *vipu_pool_part_name(const struct vipu_pool_view *view, const struct vipu_pool_part *part)
{
    const struct vipu_pool_cluster *cluster = cluster_at(view, part->domain);

    return mem_printf("%s/%u/%u", cluster->id, part->domain - (uint32_t)cluster->first,
                      (unsigned)__builtin_ctzll(part->ipus));
}

/* A controller whose only cluster had no name yet, or whose last partition is gone, names it or not. */
static const struct vipu_pool_cluster *named_cluster(const struct vipu_pool_view *view, const char *id)
{
    for (size_t c = 0; c < view->cluster_count; c++)
        if (str_eq(view->clusters[c].id, id))
            return &view->clusters[c];
    return view->cluster_count == 1 && (!*id || !*view->clusters[0].id) ? &view->clusters[0] : NULL;
}

bool vipu_pool_part_of(const struct vipu_pool_view *view, const char *name, uint32_t size,
                       struct vipu_pool_part *ret)
{
    AUTO(mem) char *copy = mem_strdup(name);
    char *ipu = strrchr(copy, '/'), *domain;
    const struct vipu_pool_cluster *cluster;
    uint32_t number, start, in_one, end;

    if (!view->placed || !ipu)
        return false;
    *ipu++ = '\0';
    domain = strrchr(copy, '/');
    if (!domain)
        return false;
    *domain++ = '\0';
    cluster = named_cluster(view, copy);
    in_one = size < VIPU_ILD_IPUS ? size : VIPU_ILD_IPUS;
    if (!cluster || !in_one || size % in_one || !parse_u32(domain, 0, VIPU_POOL_MAX_DOMAINS - 1, &number) ||
        !parse_u32(ipu, 0, VIPU_ILD_IPUS - in_one, &start))
        return false;
    end = (uint32_t)(cluster + 1 < view->clusters + view->cluster_count ? cluster[1].first - 1
                                                                        : view->blocks.domain_count);
    *ret = (struct vipu_pool_part){(uint32_t)cluster->first + number, size / in_one,
                                   vipu_block_mask(start, in_one)};
    return ret->domain < end && ret->domain_count <= end - ret->domain;
}

bool vipu_pool_take(struct vipu_pool_view *view, const struct vipu_pool_part *part)
{
    uint32_t ipus = part->domain_count * (uint32_t)__builtin_popcountll(part->ipus);

    if (!view->placed || part->domain_count > view->blocks.domain_count ||
        part->domain > view->blocks.domain_count - part->domain_count)
        return false;
    for (uint32_t d = part->domain; d < part->domain + part->domain_count; d++)
        if (part->ipus & ~view->blocks.free[d])
            return false;
    for (uint32_t d = part->domain; d < part->domain + part->domain_count; d++)
        vipu_blocks_set_free(&view->blocks, d, view->blocks.free[d] & ~part->ipus);
    view->used_ipus += ipus;
    view->free_ipus -= ipus;
    return true;
}

/* Which partition uses which IPUs, and which IPUs could become free. */
static struct vipu_eviction_set eviction_set_of(const struct vipu_pool_view *view,
                                                const struct vipu_partitions *list)
{
    struct vipu_eviction_set set;

    vipu_eviction_set_init(&set, view->blocks.domain_count, list->count);
    for (size_t d = 0; d < set.domain_count; d++)
        set.usable[d] = view->blocks.free[d];
    for (size_t p = 0; p < list->count; p++) {
        const struct vipu_partition *partition = &list->items[p];
        size_t first = holds_ipus(partition) ? first_domain(view, partition->cluster_id) : 0;

        for (uint32_t i = 0; holds_ipus(partition) && i < partition->size; i++) {
            const struct vipu_ipu *ipu = &partition->ipus[i];
            size_t d = first + ipu->domain_topology_id;

            if (view->cordoned && view->cordoned[d])
                continue; /* its end would not make room */
            vipu_eviction_set_add(&set, d, ipu->topology_id, p);
            set.usable[d] |= vipu_ipu_bit(ipu);
        }
    }
    return set;
}

size_t vipu_pool_blockers(const struct vipu_pool_view *view, const struct vipu_partitions *list,
                          uint32_t size, size_t *blocker)
{
    AUTO(vipu_eviction_set) struct vipu_eviction_set set = {0};
    size_t count;
    uint64_t cost;

    if (!view->placed || domains_for(size) == 0)
        return 0;
    set = eviction_set_of(view, list);
    return vipu_eviction_set_cheapest(&set, size, domains_for(size), blocker, &count, &cost) ? count : 0;
}
