#include "operator/reconcile/state/nodes.h"

const struct node *node_seen(const struct reconciler *r, const char *name)
{
    return r->nodes && name ? store_view(watch_store(r->nodes), NULL, name) : NULL;
}

uint64_t node_boot(const struct node *node)
{
    return node && *node->boot_id ? str_hash(node->boot_id) | 1 : 0;
}

/* The watch of nodes may be behind that of pods: a taint that was seen before the pod was may be gone. */
static bool is_out_of_service_since(const struct node *node, const struct worker_cache *worker)
{
    int64_t version = !worker ? 0 : worker->started_version ? worker->started_version : worker->bound_version;

    return node->out_of_service && (!node->version || node->version >= version);
}

/* Likewise: a boot that is older than the pod's start is the one on which it started. */
static bool has_rebooted_since(const struct node *node, const struct worker_cache *worker)
{
    bool is_older = node->boot_version && node->boot_version < worker->started_version;

    return worker->boot && node_boot(node) && node_boot(node) != worker->boot && !is_older;
}

bool node_is_fenced(const struct reconciler *r, const char *node, const struct worker_cache *worker)
{
    const struct node *seen = node_seen(r, node);

    return seen && (is_out_of_service_since(seen, worker) || (worker && has_rebooted_since(seen, worker)));
}
