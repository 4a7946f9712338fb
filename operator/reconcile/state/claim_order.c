#include "operator/reconcile/state/claim_order.h"

#include <string.h>

#include "base/core/mem.h"

#define BLOCK_MAX 256

struct claim_entry {
    struct claim_key key;
    struct job_cache *job;
};

struct claim_block {
    size_t count;
    struct claim_entry entries[BLOCK_MAX];
};

int claim_key_compare(const struct claim_key *a, const struct claim_key *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->turn_s != b->turn_s)
        return a->turn_s < b->turn_s ? -1 : 1;
    return (a->arrival > b->arrival) - (a->arrival < b->arrival);
}

/* The last block that begins at the key or before it, else the first one. */
static size_t find_block(const struct claim_order *order, const struct claim_key *key)
{
    size_t low = 0, high = order->block_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (claim_key_compare(&order->blocks[middle]->entries[0].key, key) <= 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* How many of the block are before the key. */
static size_t count_before(const struct claim_block *block, const struct claim_key *key)
{
    size_t low = 0, high = block->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (claim_key_compare(&block->entries[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct claim_block *insert_block(struct claim_order *order, size_t at)
{
    if (order->block_count == order->block_cap) {
        order->block_cap = 2 * order->block_cap + 16;
        order->blocks = mem_grow(order->blocks, order->block_cap, sizeof(*order->blocks));
    }
    memmove(&order->blocks[at + 1], &order->blocks[at], (order->block_count - at) * sizeof(*order->blocks));
    order->block_count++;
    return order->blocks[at] = NEW(struct claim_block);
}

static void split_block(struct claim_order *order, size_t at)
{
    struct claim_block *behind = insert_block(order, at + 1), *block = order->blocks[at];

    behind->count = block->count / 2;
    block->count -= behind->count;
    memcpy(behind->entries, &block->entries[block->count], behind->count * sizeof(*behind->entries));
}

void claim_order_add(struct claim_order *order, const struct claim_key *key, struct job_cache *job)
{
    struct claim_block *block;
    size_t at;

    if (!order->block_count)
        (void)insert_block(order, 0);
    at = find_block(order, key);
    if (order->blocks[at]->count == BLOCK_MAX) {
        split_block(order, at);
        at = find_block(order, key);
    }
    block = order->blocks[at];
    at = count_before(block, key);
    memmove(&block->entries[at + 1], &block->entries[at], (block->count - at) * sizeof(*block->entries));
    block->entries[at] = (struct claim_entry){*key, job};
    block->count++;
    order->count++;
}

/* NULL: absent. */
static struct claim_entry *find_entry(const struct claim_order *order, const struct claim_key *key,
                                      size_t *ret_block)
{
    struct claim_block *block;
    size_t at;

    if (!order->block_count)
        return NULL;
    *ret_block = find_block(order, key);
    block = order->blocks[*ret_block];
    at = count_before(block, key);
    return at < block->count && claim_key_compare(&block->entries[at].key, key) == 0 ? &block->entries[at]
                                                                                     : NULL;
}

void claim_order_remove(struct claim_order *order, const struct claim_key *key)
{
    size_t at;
    struct claim_entry *entry = find_entry(order, key, &at);
    struct claim_block *block;

    if (!entry)
        return;
    block = order->blocks[at];
    order->count--;
    block->count--;
    memmove(entry, entry + 1, (size_t)(&block->entries[block->count] - entry) * sizeof(*entry));
    if (block->count)
        return;
    mem_free(block);
    order->block_count--;
    memmove(&order->blocks[at], &order->blocks[at + 1], (order->block_count - at) * sizeof(*order->blocks));
}

struct job_cache *claim_order_get(const struct claim_order *order, const struct claim_key *key)
{
    size_t unused;
    const struct claim_entry *entry = find_entry(order, key, &unused);

    return entry ? entry->job : NULL;
}

struct job_cache *claim_order_next(const struct claim_order *order, const struct claim_key *after,
                                   struct claim_key *ret_key)
{
    size_t block = after ? find_block(order, after) : 0, at = 0;
    const struct claim_block *found;

    if (block == order->block_count)
        return NULL;
    found = order->blocks[block];
    if (after)
        at = count_before(found, after);
    if (after && at < found->count && claim_key_compare(&found->entries[at].key, after) == 0)
        at++;
    if (at == found->count) {
        if (block + 1 == order->block_count)
            return NULL;
        found = order->blocks[block + 1];
        at = 0;
    }
    *ret_key = found->entries[at].key;
    return found->entries[at].job;
}

void claim_order_release(struct claim_order *order)
{
    for (size_t i = 0; i < order->block_count; i++)
        mem_free(order->blocks[i]);
    mem_free(order->blocks);
    *order = (struct claim_order){0};
}
