/* The same pods end with the same codes at the same times, and the operator sees it in every order and in
 * every division into steps: the job ends with the same reason and message. */
#include "scenario.h"

#include <stdio.h>

#include "base/core/mem.h"
#include "lib/check.h"

#define PODS 4

struct end {
    int exit_code;
    int64_t at_s;
};

/* Of workers 0 and 1 of instance 0, then of instance 1. */
struct history {
    const char *spec, *reason, *message;
    struct end ends[PODS];
};

static const struct history histories[] = {
    {TWO_BY_TWO,
     "InstanceFailed",
     "1 of 2 instances failed: Container main of pod job-worker-0 exited with code 1 (see status.failures)",
     {{1, 0}, {143, 0}, {0, 0}, {0, 0}}},
    {TWO_BY_TWO,
     "InstanceFailed",
     "1 of 2 instances failed: Container main of pod job-worker-1 exited with code 2 (see status.failures)",
     {{137, 3}, {2, 3}, {0, 1}, {0, 5}}},
    {TWO_BY_TWO,
     "InstanceFailed",
     "2 of 2 instances failed: Container main of pod job-worker-3 exited with code 4 (see status.failures)",
     {{1, 0}, {1, 0}, {3, 2}, {4, 1}}},
    {TWO_BY_TWO,
     "InstanceFailed",
     "2 of 2 instances failed: Container main of pod job-worker-0 exited with code 1 (see status.failures)",
     {{1, 0}, {2, 0}, {3, 0}, {4, 0}}},
    {SPEC("\"jobInstances\":4,"),
     "InstanceFailed",
     "4 of 4 instances failed: Container main of pod job-worker-2 exited with code 3 (see status.failures)",
     {{1, 1}, {2, 0}, {3, 2}, {4, 2}}},
    {SPEC("\"jobInstances\":1,\"workersPerJobInstance\":4,"),
     "ContainerFailed",
     "Container main of pod job-worker-2 exited with code 3",
     {{143, 1}, {2, 2}, {3, 1}, {4, 1}}},
};

/* The bits of `steps`: whether the operator decides after the pod at that place, and not only after the last.
 */
static void check_end(const struct history *history, const unsigned order[PODS], unsigned steps)
{
    AUTO(world) struct world *w = running(history->spec);
    AUTO(mem)
    char *story = mem_printf("order %u%u%u%u, steps %u", order[0], order[1], order[2], order[3], steps);
    int64_t start_s = world_unix_s(w);

    w->story = story;
    w->now_ms += MINUTE_MS;
    for (size_t i = 0; i < w->pod_count; i++)
        w->pods[i]->node_silent = true;
    for (unsigned i = 0; i < PODS; i++) {
        AUTO(mem) char *name = mem_printf("job-worker-%u", order[i]);
        struct wpod *ended = pod(w, name);

        ended->node_silent = false;
        world_pod_end(w, ended, history->ends[order[i]].exit_code);
        ended->ended_s = start_s + history->ends[order[i]].at_s;
        if (i == PODS - 1 || steps >> i & 1)
            world_settle(w);
    }
    if (!str_eq(world_said(w, "launcherStatus"), "Failed") ||
        !str_eq(world_said(w, "reason"), history->reason) ||
        !str_eq(world_said(w, "lastMessage"), history->message))
        world_fail(w, "it ends %s: %s", world_said(w, "reason"), world_said(w, "lastMessage"));
}

/* Within a step, all orders are the same. */
static bool is_first_of_its_kind(const unsigned order[PODS], unsigned steps)
{
    for (unsigned i = 0; i + 1 < PODS; i++) {
        if (!(steps >> i & 1) && order[i] > order[i + 1])
            return false;
    }
    return true;
}

static void check_orders(const struct history *history, unsigned order[PODS], unsigned from)
{
    if (from == PODS) {
        for (unsigned steps = 0; steps < 1u << (PODS - 1); steps++)
            if (is_first_of_its_kind(order, steps))
                check_end(history, order, steps);
        return;
    }
    for (unsigned i = from; i < PODS; i++) {
        unsigned first = order[from];

        order[from] = order[i];
        order[i] = first;
        check_orders(history, order, from + 1);
        order[i] = order[from];
        order[from] = first;
    }
}

TEST(a_job_ends_alike_in_whatever_order_the_ends_of_its_pods_are_seen)
{
    CHECK_ROWS (history, histories) {
        unsigned order[PODS] = {0, 1, 2, 3};

        check_orders(history, order, 0);
    }
}
