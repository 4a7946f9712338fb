/* The status of a pod as a kubelet writes it. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/doc/json.h"

enum container_role { CONTAINER_INIT, CONTAINER_SIDECAR, CONTAINER_MAIN };
enum container_state { CONTAINER_WAITING, CONTAINER_RUNNING, CONTAINER_ENDED };

struct container_view {
    const char *name, *image;
    enum container_role role;
    enum container_state state;
    bool is_ready;
    const char *reason, *message; /* of waiting or of the end; NULL: none */
    int exit_code;
    unsigned restarts;
    int64_t started_s, finished_s;
};

struct pod_view {
    const struct container_view *containers; /* in the order of the spec, those of the init list first */
    size_t count;
    const char *address;
    int64_t started_s;
    bool is_over;                 /* nothing of it runs, and nothing more will be started */
    const char *reason, *message; /* of the pod as a whole; NULL: none */
};

/* No init container has failed, those that end have ended, and sidecars run. */
bool pod_view_is_initialized(const struct pod_view *view);
/* Until a sidecar that has ended so many times in a row, none of them after RESTART_RESET_S of running, is
 * started again, as by a kubelet. */
#define RESTART_RESET_S 600
int64_t pod_restart_delay_s(unsigned ends);
/* Replaces status, whose conditions keep their times as long as they do not change. */
void pod_status_put(cJSON *pod, const struct pod_view *view, int64_t now_s);
