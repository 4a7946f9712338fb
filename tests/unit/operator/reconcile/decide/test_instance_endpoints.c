/* Workers that meet by name: who is behind the names, told once, and again only when that has changed. */
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "scenario.h"

#define SLICE "job-workers-0-ipv4"

static const cJSON *slice(const struct world *w, const char *name)
{
    for (size_t i = 0; i < w->slice_count; i++) {
        if (str_eq(json_str(w->slices[i], "metadata/name", ""), name))
            return w->slices[i];
    }
    CHECK_FAIL("there is no EndpointSlice %s", name);
}

/* "job-worker-0=10.0.0.0 ..." */
static char *behind(const struct world *w, const char *name)
{
    struct str out = {0};

    JSON_EACH (endpoint, json_at(slice(w, name), "endpoints"))
        str_addf(&out, "%s%s=%s", out.len ? " " : "", json_str(endpoint, "hostname", ""),
                 json_at(endpoint, "addresses")->child->valuestring);
    return str_take(&out);
}

static void check_behind(const struct world *w, const char *name, const char *want)
{
    AUTO(mem) char *got = behind(w, name);

    CHECK_STR_EQ(got, want);
}

TEST(names_are_written_once_for_all_workers)
{
    AUTO(world) struct world *w = running(TWO_BY_TWO);

    CHECK_INT_EQ(w->name_writes, 2);
    check_behind(w, SLICE, "job-worker-0=10.0.0.0 job-worker-1=10.0.0.1");
    check_behind(w, "job-workers-1-ipv4", "job-worker-2=10.0.1.0 job-worker-3=10.0.1.1");
    check_idle(w);
    end_all(w, 0);
    check_completed(w);
    CHECK_INT_EQ(w->name_writes, 2);
}

TEST(who_needs_no_names_has_none)
{
    AUTO(world) struct world *one = running(ONE);
    AUTO(world)
    struct world *launched = running(
        SPEC("\"jobInstances\":1,\"workersPerJobInstance\":2,\"launcher\":{\"command\":[\"mpirun\"]},"));

    CHECK_INT_EQ(one->name_writes + launched->name_writes, 0);
}

TEST(a_new_process_writes_no_names_again)
{
    AUTO(world) struct world *w = running(TWO_WORKERS);

    world_crash(w);
    world_settle(w);
    world_pass(w, MINUTE_MS);
    CHECK_INT_EQ(w->name_writes, 1);
    check_idle(w);
}

TEST(names_that_were_deleted_or_changed_come_back)
{
    AUTO(world) struct world *w = running(TWO_WORKERS);

    w->slice_count = 0;
    cJSON_Delete(w->slices[0]);
    world_settle(w);
    check_behind(w, SLICE, "job-worker-0=10.0.0.0 job-worker-1=10.0.0.1");
    json_drop(json_at_mut(w->slices[0], "endpoints")->child, "hostname");
    world_settle(w);
    check_behind(w, SLICE, "job-worker-0=10.0.0.0 job-worker-1=10.0.0.1");
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    check_idle(w);
}

/* create_pod of the world looks whether anybody of the first run is still behind them. */
TEST(a_restart_begins_without_names)
{
    AUTO(world)
    struct world *w = running(
        SPEC("\"jobInstances\":1,\"workersPerJobInstance\":2,\"restartPolicy\":{\"type\":\"OnFailure\"},"));

    world_pod_end(w, pod(w, "job-worker-1"), 1);
    world_settle(w);
    world_pass(w, MINUTE_MS);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_INT_EQ(world_number(w, "restartCount"), 1);
    CHECK_INT_EQ(w->name_writes, 3);
    check_behind(w, SLICE, "job-worker-0=10.0.0.0 job-worker-1=10.0.0.1");
}

static struct world *with_late_workers(void)
{
    struct world *w = world_new(SPEC("\"jobInstances\":1,\"workersPerJobInstance\":4,"));

    for (int i = 0; i < 100 && !world_pod(w, "job-worker-3"); i++)
        world_advance(w);
    pod(w, "job-worker-2")->is_slow = pod(w, "job-worker-3")->is_slow = true;
    return w;
}

TEST(the_last_addresses_are_waited_for_and_a_part_is_reported_once)
{
    AUTO(world) struct world *w = with_late_workers();

    world_pass(w, 9 * MINUTE_MS);
    CHECK_INT_EQ(w->name_writes, 0);
    world_pass(w, MINUTE_MS);
    check_behind(w, SLICE, "job-worker-0=10.0.0.0 job-worker-1=10.0.0.1");
    pod(w, "job-worker-2")->is_slow = false;
    world_pass(w, 20 * MINUTE_MS);
    CHECK_INT_EQ(w->name_writes, 1); /* not with each of them */
    pod(w, "job-worker-3")->is_slow = false;
    world_settle(w);
    check_behind(w, SLICE,
                 "job-worker-0=10.0.0.0 job-worker-1=10.0.0.1 job-worker-2=10.0.0.2 job-worker-3=10.0.0.3");
    CHECK_INT_EQ(w->name_writes, 2);
    check_idle(w);
}

TEST(an_address_that_changes_is_reported)
{
    AUTO(world) struct world *w = running(TWO_WORKERS);

    pod(w, "job-worker-1")->ip = "10.9.9.9";
    world_settle(w);
    check_behind(w, SLICE, "job-worker-0=10.0.0.0 job-worker-1=10.9.9.9");
    check_idle(w);
}

TEST(each_family_of_addresses_has_a_slice)
{
    AUTO(world) struct world *w = running(TWO_WORKERS);

    pod(w, "job-worker-1")->ip = "fd00::1";
    world_settle(w);
    check_behind(w, SLICE, "job-worker-0=10.0.0.0");
    check_behind(w, "job-workers-0-ipv6", "job-worker-1=fd00::1");
    CHECK_STR_EQ(json_str(slice(w, SLICE), "addressType", ""), "IPv4");
    CHECK_STR_EQ(json_str(slice(w, "job-workers-0-ipv6"), "addressType", ""), "IPv6");
    check_idle(w);
}

TEST(a_service_of_an_earlier_version_is_left_to_the_cluster)
{
    AUTO(world) struct world *w = world_new(TWO_WORKERS);

    w->has_service = w->service_has_selector = true;
    world_settle(w);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
    CHECK_INT_EQ(w->name_writes, 0);
    w->has_service = w->service_has_selector = false; /* deleted by hand: the next one is ours */
    world_settle(w);
    CHECK(w->has_service);
    CHECK_INT_EQ(w->name_writes, 1);
}

TEST(names_that_are_rejected_keep_a_job_from_running)
{
    AUTO(world) struct world *w = world_new(TWO_WORKERS);

    w->names_rejection = "endpointslices is forbidden";
    world_settle(w);
    world_pass(w, 1000);
    check_state(w, "Starting", "PodsForbidden",
                "The API server rejected the workers' EndpointSlices: endpointslices is forbidden");
    CHECK(strv_has(&w->event_reasons, "PodsForbidden"));
    check_idle(w);
    w->names_rejection = NULL;
    world_pass(w, 10000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}

TEST(names_that_cannot_be_taken_away_hold_up_a_restart)
{
    AUTO(world)
    struct world *w = running(
        SPEC("\"jobInstances\":1,\"workersPerJobInstance\":2,\"restartPolicy\":{\"type\":\"OnFailure\"},"));

    w->names_rejection = "endpointslices is forbidden";
    world_pod_end(w, pod(w, "job-worker-1"), 1);
    world_settle(w);
    world_pass(w, MINUTE_MS);
    CHECK(!world_pod(w, "job-worker-0"));
    check_idle(w);
    w->names_rejection = NULL;
    world_pass(w, 10000);
    CHECK_STR_EQ(world_said(w, "launcherStatus"), "Running");
}
