#include "scenario.h"

#include "lib/check.h"

struct world *running(const char *spec)
{
    struct world *w = world_new(spec);

    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    return w;
}

struct wpod *pod(struct world *w, const char *name)
{
    struct wpod *found = world_pod(w, name);

    if (!found)
        world_fail(w, "there is no pod %s", name);
    return found;
}

void check_state(const struct world *w, const char *state, const char *reason, const char *message)
{
    CHECK_STR_EQ(world_said(w, "launcherStatus"), state);
    CHECK_STR_EQ(world_said(w, "reason"), reason);
    CHECK_STR_EQ(world_said(w, "lastMessage"), message);
}

void check_nothing_held(const struct world *w)
{
    CHECK_INT_EQ(w->partition_count, 0);
    CHECK_INT_EQ(world_held(w), 0);
    CHECK(!w->finalizer);
}

void check_completed(const struct world *w)
{
    check_state(w, "Completed", "Completed", "All instances done");
    CHECK_INT_EQ(world_number(w, "currentReplicas"), 0);
    check_nothing_held(w);
}

void end_all(struct world *w, int exit_code)
{
    for (size_t i = 0; i < w->pod_count; i++) {
        if (w->pods[i]->exists && w->pods[i]->process)
            world_pod_end(w, w->pods[i], exit_code);
    }
    world_settle(w);
}

void check_log_is_kept(struct world *w, const char *name)
{
    CHECK_INT_EQ(pod(w, name)->report, REPORT_ENDED);
    CHECK(!pod(w, name)->process);
}

void check_idle(struct world *w)
{
    unsigned writes = w->writes;

    world_settle(w);
    CHECK_INT_EQ(w->writes, writes);
}
