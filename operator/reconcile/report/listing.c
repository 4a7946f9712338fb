#include "operator/reconcile/report/listing.h"

#include "operator/reconcile/report/inventory.h"
#include "operator/reconcile/report/queue.h"
#include "operator/reconcile/report/usage.h"
#include "operator/reconcile/state/reconciler_state.h"

cJSON *listing_print(struct reconciler *r, enum page_list list, const struct page_request *request)
{
    static const struct {
        page_list_fn list;
        void (*print)(struct reconciler *r, const struct page_snapshot *snapshot,
                      const struct page_request *request, cJSON *out);
    } rows[PAGE_LISTS] = {
        [PAGE_QUEUE] = {queue_list, queue_print},
        [PAGE_CONTROLLERS] = {usage_list_controllers, usage_print_controllers},
        [PAGE_PARTITIONS] = {inventory_list, inventory_print},
    };
    cJSON *out = json_object();

    page_snapshot_refresh(&r->snapshots[list], loop_now_ms(r->loop), rows[list].list, r);
    rows[list].print(r, &r->snapshots[list], request, out);
    return out;
}
