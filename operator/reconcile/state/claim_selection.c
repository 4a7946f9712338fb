#include "operator/reconcile/state/claim_selection.h"

#include "base/core/mem.h"

static bool is_before(const struct claim_key *a, const struct claim_key *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->turn_s != b->turn_s)
        return a->turn_s < b->turn_s;
    return a->arrival < b->arrival;
}

void claim_selection_release(struct claim_selection *selection)
{
    for (size_t i = 0; i < CLAIM_GROUPS; i++)
        mem_free(selection->groups[i].keys);
    mem_free(selection->all.keys);
    *selection = (struct claim_selection){0};
}

void claim_selection_begin(struct claim_selection *selection, size_t jobs, size_t groups)
{
    claim_selection_release(selection);
    selection->all.share = jobs / 2;
    for (size_t i = 0; i < CLAIM_GROUPS; i++)
        selection->groups[i].share = jobs / 2 / groups;
}

static void rise(struct claim_key *keys, size_t at, struct claim_key key)
{
    for (; at > 0 && is_before(&keys[(at - 1) / 2], &key); at = (at - 1) / 2)
        keys[at] = keys[(at - 1) / 2];
    keys[at] = key;
}

/* In place of the top. */
static void sink(struct claim_key *keys, size_t count, struct claim_key key)
{
    size_t at = 0, child;

    for (; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_before(&keys[child], &keys[child + 1]))
            child++;
        if (!is_before(&key, &keys[child]))
            break;
        keys[at] = keys[child];
    }
    keys[at] = key;
}

static void add(struct claim_group *group, const struct claim_key *key)
{
    if (!group->keys)
        group->keys = mem_alloc(group->share * sizeof(*group->keys));
    if (group->count < group->share)
        rise(group->keys, group->count++, *key);
    else if (is_before(key, &group->keys[0]))
        sink(group->keys, group->count, *key);
}

void claim_selection_add(struct claim_selection *selection, uint32_t group, const struct claim_key *key)
{
    add(&selection->all, key);
    add(&selection->groups[group], key);
}

static bool has(const struct claim_group *group, const struct claim_key *key)
{
    return group->count < group->share || !is_before(&group->keys[0], key);
}

bool claim_selection_has(const struct claim_selection *selection, uint32_t group, const struct claim_key *key)
{
    return has(&selection->all, key) || has(&selection->groups[group], key);
}

size_t claim_selection_groups(const struct claim_selection *selection)
{
    size_t count = 0;

    for (size_t i = 0; i < CLAIM_GROUPS; i++)
        count += selection->groups[i].count > 0;
    return count;
}
