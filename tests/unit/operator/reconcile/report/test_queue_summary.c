/* What the leader notes in its lease for the other replicas. */
#include "operator/reconcile/report/queue.h"

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/reconcile/state/reconciler_state.h"

TEST(namespaces_with_most_are_named)
{
    struct reconciler r = {.queue_totals.waiting = 210};
    struct queue_namespace waiting[21];
    AUTO(str) struct str want = {0};
    AUTO(mem) char *text = NULL;

    for (uint32_t i = 0; i <= 20; i++) {
        AUTO(mem) char *name = mem_printf("team-%u", i);

        waiting[i] = (struct queue_namespace){.waiting = i};
        map_set(&r.queue_totals.namespaces, name, &waiting[i]);
        map_set(&r.job_counts.template_bytes, name, (void *)(uintptr_t)(TEMPLATE_LIMIT_BYTES / 2 + i * 1024));
    }
    str_addf(&want, "210");
    for (unsigned i = 20; i > 4; i--)
        str_addf(&want, ";team-%u=%u", i, i);
    for (unsigned i = 20; i > 4; i--)
        str_addf(&want, ";team-%u:%u", i, 32 * 1024 + i);
    text = queue_sum_up(&r);
    CHECK_STR_EQ(text, str_text(&want));
    map_release(&r.queue_totals.namespaces);
    map_release(&r.job_counts.template_bytes);
}

TEST(who_waits_for_nothing_and_has_small_templates_is_not_named)
{
    struct reconciler r = {0};
    struct queue_namespace idle = {.jobs = 1};
    AUTO(mem) char *text = NULL;

    map_set(&r.queue_totals.namespaces, "team", &idle);
    map_set(&r.job_counts.template_bytes, "team", (void *)(uintptr_t)(TEMPLATE_LIMIT_BYTES / 2));
    text = queue_sum_up(&r);
    CHECK_STR_EQ(text, "0");
    map_release(&r.queue_totals.namespaces);
    map_release(&r.job_counts.template_bytes);
}
