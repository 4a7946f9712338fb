#include "operator/reconcile/state/nodes.h"

const struct node *node_seen(const struct reconciler *r, const char *name)
{
    return r->nodes && name ? store_view(watch_store(r->nodes), NULL, name) : NULL;
}

uint64_t node_boot(const struct node *node)
{
    return node && *node->boot_id ? str_hash(node->boot_id) | 1 : 0;
}

bool node_is_fenced(const struct reconciler *r, const char *node, uint64_t boot)
{
    const struct node *seen = node_seen(r, node);

    if (!seen)
        return false;
    return seen->out_of_service || (boot && node_boot(seen) && node_boot(seen) != boot);
}
