#include "operator/forecast/place/occupancy.h"

#include <string.h>

#include "operator/forecast/place/layout.h"

static const uint64_t ALIGNED[DOMAIN_ORDERS] = {
    ~(uint64_t)0,        0x5555555555555555u, 0x1111111111111111u, 0x0101010101010101u,
    0x0001000100010001u, 0x0000000100000001u, 0x0000000000000001u,
};

uint64_t block_ipus(unsigned start, uint32_t size)
{
    return (size >= DOMAIN_IPUS ? ~(uint64_t)0 : ((uint64_t)1 << size) - 1) << start;
}

uint64_t blocks_within(uint64_t ipus, unsigned order)
{
    for (unsigned o = 0; o < order; o++)
        ipus &= ipus >> (1u << o) & ALIGNED[o + 1];
    return ipus;
}

uint64_t lone_blocks_within(uint64_t ipus, unsigned order)
{
    uint64_t blocks = blocks_within(ipus, order), pairs;

    if (order + 1 == DOMAIN_ORDERS)
        return blocks;
    pairs = blocks & blocks >> (1u << order) & ALIGNED[order + 1];
    return blocks & ~(pairs | pairs << (1u << order));
}

/* ---- memory ---- */

static uint32_t domains_of(const struct forecast_controller *c)
{
    if (!c->is_placed)
        return 0;
    return c->domain_count < FORECAST_DOMAINS_MAX ? c->domain_count : FORECAST_DOMAINS_MAX;
}

size_t occupancy_lay_out(struct occupancy *o, const struct forecast_input *input, void *memory)
{
    size_t used = 0, count;

    o->room_count = (uint32_t)(input->controller_count < FORECAST_CONTROLLERS ? input->controller_count
                                                                              : FORECAST_CONTROLLERS);
    o->domain_count = 0;
    for (uint32_t c = 0; c < o->room_count; c++)
        o->domain_count += domains_of(&input->controllers[c]);
    count = o->domain_count;
    o->rooms = lay(memory, &used, o->room_count, sizeof(*o->rooms));
    o->usable = lay(memory, &used, count, sizeof(*o->usable));
    o->free = lay(memory, &used, count, sizeof(*o->free));
    o->fenced = lay(memory, &used, count, sizeof(*o->fenced));
    o->keys = lay(memory, &used, count * DOMAIN_BLOCKS, sizeof(*o->keys));
    o->lowest = lay(memory, &used, count * DOMAIN_ORDERS, sizeof(*o->lowest));
    o->least = lay(memory, &used, o->room_count * DOMAIN_ORDERS, sizeof(*o->least));
    o->slots = lay(memory, &used, count * DOMAIN_IPUS, sizeof(*o->slots));
    o->lone = lay(memory, &used, o->room_count * DOMAIN_ORDERS * DOMAINS_WORDS_MAX, sizeof(*o->lone));
    return used;
}

/* ---- indexes ---- */

void lone_mark(uint64_t *sets, uint32_t local, unsigned top, uint64_t ipus)
{
    uint64_t bit = (uint64_t)1 << local % 64;

    for (unsigned order = 0; order <= top; order++) {
        uint64_t *word = &sets[order * DOMAINS_WORDS_MAX + local / 64];
        uint64_t pairs = order + 1 < DOMAIN_ORDERS ? ipus & ipus >> (1u << order) & ALIGNED[order + 1] : 0;

        if (pairs)
            ipus &= ~(pairs | pairs << (1u << order));
        *word = ipus ? *word | bit : *word & ~bit;
        ipus = pairs;
    }
}

static void index_free(struct occupancy *o, uint32_t room, uint32_t d)
{
    lone_mark(lone_set(o, room, 0), d - o->rooms[room].first, o->rooms[room].top, o->free[d] & ~o->fenced[d]);
}

static void index_keys(struct occupancy *o, uint32_t room, uint32_t d)
{
    uint32_t *keys = &o->keys[d * DOMAIN_BLOCKS], *lowest = &o->lowest[d], *known;

    for (unsigned order = 0; order < DOMAIN_ORDERS; order++) {
        uint32_t first = DOMAIN_IPUS >> order, least = KEY_GONE;

        if (order > 0)
            for (uint32_t b = first; b < 2 * first; b++)
                keys[b] = keys[2 * b] > keys[2 * b + 1] ? keys[2 * b] : keys[2 * b + 1];
        for (uint32_t b = first; b < 2 * first; b++)
            least = keys[b] < least ? keys[b] : least;
        known = &o->least[room * DOMAIN_ORDERS + order];
        *known = least < *known ? least : *known;
        lowest[order * o->domain_count] = least;
    }
}

static bool is_aligned_block(uint64_t ipus)
{
    uint32_t size = (uint32_t)__builtin_popcountll(ipus);
    unsigned first = ipus ? (unsigned)__builtin_ctzll(ipus) : 0;

    return ipus && (size & (size - 1)) == 0 && first % size == 0 && ipus == block_ipus(first, size);
}

/* The same for a block that has become free: nothing of its domain becomes free later than before. */
static void index_keys_of_free(struct occupancy *o, uint32_t room, uint32_t d, uint64_t ipus)
{
    uint32_t size = (uint32_t)__builtin_popcountll(ipus), first = (uint32_t)__builtin_ctzll(ipus);
    uint32_t *keys = &o->keys[d * DOMAIN_BLOCKS], b = (DOMAIN_IPUS + first) / size, key = KEY_FREE;

    for (uint32_t at = b, count = 1; at < DOMAIN_BLOCKS; at *= 2, count *= 2)
        memset(&keys[at], 0, count * sizeof(*keys));
    for (unsigned order = 0; order < DOMAIN_ORDERS; order++) {
        uint32_t *lowest = &o->lowest[order * o->domain_count + d],
                 *known = &o->least[room * DOMAIN_ORDERS + order];

        if (1u << order > size) {
            key = key > keys[b ^ 1] ? key : keys[b ^ 1];
            keys[b /= 2] = key;
        }
        *lowest = key < *lowest ? key : *lowest;
        *known = key < *known ? key : *known;
    }
}

bool occupancy_may_have(struct occupancy *o, uint32_t room, unsigned order, uint32_t latest)
{
    uint32_t *known = &o->least[room * DOMAIN_ORDERS + order], least = KEY_GONE;
    const uint32_t *lowest = &o->lowest[order * o->domain_count + o->rooms[room].first];

    if (*known > latest)
        return false;
    for (uint32_t d = 0; d < o->rooms[room].domain_count; d++) {
        if (lowest[d] <= latest)
            return true;
        least = lowest[d] < least ? lowest[d] : least;
    }
    *known = least;
    return false;
}

static void fill(uint32_t *ipus, uint64_t which, uint32_t with)
{
    for (; which; which &= which - 1)
        ipus[__builtin_ctzll(which)] = with;
}

/* ---- changes ---- */

static uint32_t is_whole(const struct occupancy *o, uint32_t room, uint32_t d)
{
    return o->free[d] == block_ipus(0, o->rooms[room].ipus_per_domain);
}

void occupancy_init(struct occupancy *o, const struct forecast_input *input)
{
    uint32_t d = 0;

    memset(o->least, 0xff, o->room_count * DOMAIN_ORDERS * sizeof(*o->least));
    memset(o->lowest, 0xff, o->domain_count * DOMAIN_ORDERS * sizeof(*o->lowest));
    memset(o->lone, 0, o->room_count * DOMAIN_ORDERS * DOMAINS_WORDS_MAX * sizeof(*o->lone));
    for (uint32_t c = 0; c < o->room_count; c++) {
        const struct forecast_controller *from = &input->controllers[c];
        uint32_t ipus = from->ipus_per_domain >= DOMAIN_IPUS ? DOMAIN_IPUS : from->ipus_per_domain | 1;
        uint32_t top = (uint32_t)(31 - __builtin_clz(ipus)), total = from->total_ipus;

        o->rooms[c] = (struct room){.is_placed = from->is_placed,
                                    .first = d,
                                    .domain_count = domains_of(from),
                                    .words = (domains_of(from) + 63) / 64,
                                    .ipus_per_domain = 1u << top,
                                    .top = top};
        if (!from->is_placed)
            occupancy_count(o, c, -(int64_t)(total < FORECAST_COUNTED_MAX ? total : FORECAST_COUNTED_MAX));
        for (; d < o->rooms[c].first + o->rooms[c].domain_count; d++) {
            o->usable[d] = from->domains[d - o->rooms[c].first] & block_ipus(0, 1u << top);
            o->free[d] = o->usable[d];
            o->fenced[d] = 0;
            o->rooms[c].free_ipus += (uint32_t)__builtin_popcountll(o->free[d]);
            o->rooms[c].whole_free += is_whole(o, c, d);
            memset(&o->slots[d * DOMAIN_IPUS], 0xff, DOMAIN_IPUS * sizeof(*o->slots));
            fill(&o->keys[d * DOMAIN_BLOCKS + DOMAIN_IPUS], ~o->usable[d], KEY_GONE);
            fill(&o->keys[d * DOMAIN_BLOCKS + DOMAIN_IPUS], o->usable[d], KEY_FREE);
        }
    }
}

void occupancy_index(struct occupancy *o)
{
    for (uint32_t c = 0; c < o->room_count; c++)
        for (uint32_t d = o->rooms[c].first; d < o->rooms[c].first + o->rooms[c].domain_count; d++) {
            index_keys(o, c, d);
            index_free(o, c, d);
        }
}

static uint32_t first_domain(const struct occupancy *o, uint32_t room, const struct forecast_block *block)
{
    return o->rooms[room].first + block->domain;
}

void occupancy_occupy(struct occupancy *o, uint32_t room, const struct forecast_block *block, uint32_t key,
                      uint32_t slot)
{
    uint32_t first = first_domain(o, room, block);

    for (uint32_t d = first; d < first + block->domain_count; d++) {
        uint64_t ipus = block->ipus & o->usable[d], twice = ipus & ~o->free[d];

        o->rooms[room].whole_free -= is_whole(o, room, d) && ipus;
        o->usable[d] &= ~twice;
        o->free[d] &= ~ipus;
        o->rooms[room].free_ipus -= (uint32_t)__builtin_popcountll(ipus & ~twice);
        fill(&o->keys[d * DOMAIN_BLOCKS + DOMAIN_IPUS], ipus, key);
        fill(&o->keys[d * DOMAIN_BLOCKS + DOMAIN_IPUS], twice, KEY_GONE);
        fill(&o->slots[d * DOMAIN_IPUS], ipus, slot);
    }
}

void occupancy_count(struct occupancy *o, uint32_t room, int64_t ipus)
{
    struct room *r = &o->rooms[room];

    r->counted -= ipus;
    r->free_ipus = r->counted > 0 ? (uint32_t)r->counted : 0;
}

void occupancy_take(struct occupancy *o, uint32_t room, const struct forecast_block *block, uint32_t key,
                    uint32_t slot)
{
    uint32_t first = first_domain(o, room, block);

    occupancy_occupy(o, room, block, key, slot);
    for (uint32_t d = first; d < first + block->domain_count; d++) {
        index_keys(o, room, d);
        index_free(o, room, d);
    }
}

void occupancy_release(struct occupancy *o, uint32_t room, const struct forecast_block *block)
{
    uint32_t first = first_domain(o, room, block);

    for (uint32_t d = first; d < first + block->domain_count; d++) {
        uint64_t ipus = block->ipus & o->usable[d];

        o->rooms[room].whole_free -= is_whole(o, room, d);
        o->free[d] |= ipus;
        o->rooms[room].whole_free += is_whole(o, room, d);
        o->rooms[room].free_ipus += (uint32_t)__builtin_popcountll(ipus);
        fill(&o->slots[d * DOMAIN_IPUS], ipus, FORECAST_NONE);
        if (is_aligned_block(ipus)) {
            index_keys_of_free(o, room, d, ipus);
        } else {
            fill(&o->keys[d * DOMAIN_BLOCKS + DOMAIN_IPUS], ipus, KEY_FREE);
            index_keys(o, room, d);
        }
        index_free(o, room, d);
    }
}

void occupancy_set_key(struct occupancy *o, uint32_t room, const struct forecast_block *block, uint32_t key)
{
    uint32_t first = first_domain(o, room, block);

    for (uint32_t d = first; d < first + block->domain_count; d++) {
        fill(&o->keys[d * DOMAIN_BLOCKS + DOMAIN_IPUS], block->ipus & o->usable[d], key);
        index_keys(o, room, d);
    }
}

void occupancy_fence(struct occupancy *o, uint32_t room, const struct fence *fence)
{
    struct room *r = &o->rooms[room];
    uint32_t first = first_domain(o, room, &fence->block);

    r->fences[r->fence_count++] = *fence;
    for (uint32_t d = first; d < first + fence->block.domain_count; d++) {
        o->fenced[d] |= fence->block.ipus;
        if (o->free[d] & fence->block.ipus)
            index_free(o, room, d);
    }
}

void occupancy_clear_fences(struct occupancy *o, uint32_t room)
{
    struct room *r = &o->rooms[room];

    for (uint32_t i = 0; i < r->fence_count; i++) {
        uint32_t first = first_domain(o, room, &r->fences[i].block);

        for (uint32_t d = first; d < first + r->fences[i].block.domain_count; d++) {
            bool hides = o->free[d] & o->fenced[d];

            o->fenced[d] = 0; /* the other fences here are cleared as well */
            if (hides)
                index_free(o, room, d);
        }
    }
    r->fence_count = 0;
}
