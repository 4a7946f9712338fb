#include "local/node/pod_status.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define MAIN(state_, code)                                                                                   \
    {                                                                                                        \
        .name = "main", .role = CONTAINER_MAIN, .state = state_, .is_ready = (state_) == CONTAINER_RUNNING,  \
        .exit_code = (code)                                                                                  \
    }
#define INIT(state_, code)                                                                                   \
    {                                                                                                        \
        .name = "init", .role = CONTAINER_INIT, .state = state_, .exit_code = (code)                         \
    }
#define SIDECAR(state_, code)                                                                                \
    {                                                                                                        \
        .name = "side", .role = CONTAINER_SIDECAR, .state = state_, .exit_code = (code)                      \
    }

TEST(the_phase_follows_from_the_containers)
{
    static const struct {
        struct container_view containers[2];
        size_t count;
        bool is_over;
        const char *reason, *want;
    } rows[] = {
        {{MAIN(CONTAINER_WAITING, 0)}, 1, false, NULL, "Pending"},
        {{MAIN(CONTAINER_RUNNING, 0)}, 1, false, NULL, "Running"},
        {{MAIN(CONTAINER_ENDED, 0)}, 1, true, NULL, "Succeeded"},
        {{MAIN(CONTAINER_ENDED, 3)}, 1, true, NULL, "Failed"},
        {{MAIN(CONTAINER_ENDED, 0)}, 1, true, "DeadlineExceeded", "Failed"},
        {{INIT(CONTAINER_RUNNING, 0), MAIN(CONTAINER_WAITING, 0)}, 2, false, NULL, "Pending"},
        {{INIT(CONTAINER_ENDED, 0), MAIN(CONTAINER_RUNNING, 0)}, 2, false, NULL, "Running"},
        {{INIT(CONTAINER_ENDED, 1), MAIN(CONTAINER_WAITING, 0)}, 2, true, NULL, "Failed"},
        /* A sidecar that has been stopped does not fail its pod, and one that still runs keeps it from
           ending. */
        {{SIDECAR(CONTAINER_ENDED, 143), MAIN(CONTAINER_ENDED, 0)}, 2, true, NULL, "Succeeded"},
        {{SIDECAR(CONTAINER_RUNNING, 0), MAIN(CONTAINER_ENDED, 0)}, 2, false, NULL, "Running"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *pod = json_object();

        pod_status_put(pod,
                       &(struct pod_view){.containers = row->containers,
                                          .count = row->count,
                                          .address = "127.0.0.1",
                                          .is_over = row->is_over,
                                          .reason = row->reason},
                       100);
        CHECK_STR_EQ(json_str(pod, "status/phase", ""), row->want);
    }
}

static const cJSON *condition(const cJSON *pod, const char *type)
{
    JSON_EACH (entry, json_at(pod, "status/conditions")) {
        if (str_eq(json_str(entry, "type", ""), type))
            return entry;
    }
    return NULL;
}

TEST(a_condition_keeps_its_time_until_it_changes)
{
    struct container_view main = MAIN(CONTAINER_RUNNING, 0);
    const struct pod_view view = {.containers = &main, .count = 1, .address = "127.0.0.1"};
    AUTO(json) cJSON *pod = json_object();

    main.is_ready = false;
    pod_status_put(pod, &view, 100);
    pod_status_put(pod, &view, 200);
    CHECK_STR_EQ(json_str(condition(pod, "Ready"), "lastTransitionTime", ""), "1970-01-01T00:01:40Z");
    main.is_ready = true;
    pod_status_put(pod, &view, 300);
    CHECK_STR_EQ(json_str(condition(pod, "Ready"), "status", ""), "True");
    CHECK_STR_EQ(json_str(condition(pod, "Ready"), "lastTransitionTime", ""), "1970-01-01T00:05:00Z");
    CHECK_STR_EQ(json_str(condition(pod, "Initialized"), "lastTransitionTime", ""), "1970-01-01T00:01:40Z");
}

TEST(a_sidecar_is_started_again_at_once_and_then_ever_later)
{
    static const int64_t want_s[] = {0, 10, 20, 40, 80, 160, 300, 300};

    for (unsigned i = 0; i < COUNT_OF(want_s); i++)
        CHECK_INT_EQ(pod_restart_delay_s(i + 1), want_s[i]);
    CHECK_INT_EQ(pod_restart_delay_s(UINT32_MAX), 300);
}

TEST(restarts_of_a_container_are_counted)
{
    const struct container_view side = {.name = "side", .role = CONTAINER_SIDECAR, .restarts = 2};
    AUTO(json) cJSON *pod = json_object();

    pod_status_put(pod, &(struct pod_view){.containers = &side, .count = 1, .address = "127.0.0.1"}, 60);
    CHECK_INT_EQ(json_i64(json_at(pod, "status/initContainerStatuses")->child, "restartCount", 0), 2);
}

TEST(a_container_that_has_ended_tells_how)
{
    const struct container_view main = {.name = "main",
                                        .role = CONTAINER_MAIN,
                                        .state = CONTAINER_ENDED,
                                        .exit_code = 3,
                                        .reason = "Error",
                                        .message = "last line",
                                        .finished_s = 60};
    AUTO(json) cJSON *pod = json_object();
    const cJSON *ended;

    pod_status_put(
        pod, &(struct pod_view){.containers = &main, .count = 1, .address = "127.0.0.1", .is_over = true},
        60);
    ended = json_at(json_at(pod, "status/containerStatuses")->child, "state/terminated");
    CHECK_INT_EQ(json_i64(ended, "exitCode", 0), 3);
    CHECK_STR_EQ(json_str(ended, "message", ""), "last line");
    CHECK_STR_EQ(json_str(ended, "finishedAt", ""), "1970-01-01T00:01:00Z");
}
