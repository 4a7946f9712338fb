/* The operator's view of a pod, and the question that decides when IPUs may be released: may the pod still
 * be using them? Pure. See docs/ARCHITECTURE.md, "When IPUs may be released". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/doc/json.h"

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };

/* No instance has so many pods; a label with a larger number is invalid. */
#define POD_SEATS_MAX 8192

/* One allocation, followed by its strings, which must not be replaced. */
struct pod {
    char *ns, *name, *uid, *resource_version;
    char *job_uid;   /* of the controlling IPUJob, or NULL */
    char *job_name;  /* owner's name, or NULL */
    char *job_key;   /* "namespace/name" of the owner; "" without one */
    char *partition; /* annotation: id of the partition it was started on, or NULL */
    char *node;      /* or NULL */
    char *ip;        /* its address, or NULL */
    char *host;      /* its host name if that differs from its name, or NULL */
    uint32_t run;    /* annotation: which start on that partition */
    uint32_t instance;
    uint32_t worker;         /* its index in the instance: workers first, then the launcher */
    uint16_t agent_port;     /* port of its agent; 0 without one */
    uint64_t revision;       /* annotation: hash of the template it was created from; 0: none */
    uint64_t launcher_image; /* annotation: hash of the image of its ipu-launch; 0: none */
    enum pod_phase phase;
    bool deleting;
    bool stopped_while_running; /* it was deleted or stopped before it ended: its exit status says nothing
                                   about its program */
    bool ready;
    bool node_not_ready;    /* it runs, but the node controller has marked it: its node does not report */
    bool sandbox_not_ready; /* its node reports that its volumes or its network are not available */
    bool has_started;       /* a container of it has started: its volumes are available */
    bool has_log;           /* a container of its template has started */
    bool started_all_terminated; /* every container that started has state.terminated */
    bool main_done; /* the first container, and every other that is not a sidecar, has terminated */
    /* Unix seconds; 0: not yet */
    int64_t created_s;
    int64_t scheduled_s;            /* it is scheduled to a node */
    int64_t started_s;              /* its kubelet has accepted it */
    int64_t begun_s;                /* the first of its containers started, except init containers */
    int64_t ready_s;                /* since when it is ready */
    int64_t node_not_ready_s;       /* since when its node is not ready; 0: unknown */
    int64_t finished_s;             /* Unix seconds of the last container's end; 0: none has ended */
    int64_t failed_s;               /* of the end of the container that failed first; 0: none has failed */
    int64_t termination_deadline_s; /* end of its grace period; 0: it is not deleted */
    int64_t stopped_s;              /* when the operator stopped it, see plan_pod_stop; 0: it did not */
    int64_t grace_s;                /* how long its containers may take to end */
    int exit_code;                  /* of that container, else 0; native sidecars do not count */
    int exit_signal;
    bool oom_killed;
    bool has_liveness_probe, has_startup_probe, has_start_hook; /* the same container */
    char *sidecar_still_running; /* a container, not a sidecar, that still runs although the first has ended;
                                    or NULL */
    char *unready_container;     /* runs and does not pass its probe although the pod runs, or NULL */
    char *running_init;          /* an init container, no sidecar, that runs; or NULL */
    char *failed_container;      /* its name, or NULL */
    char *failed_reason;         /* Kubernetes' reason for its end, such as Error or OOMKilled; or NULL */
    const char *trouble;         /* of reasons.h: why it waits, or why it failed; NULL: no problem */
    const char *disruption; /* of reasons.h: what disrupts it before it ended; NULL: nothing but a user or
                               this operator */
    int64_t disrupted_s;    /* since when; 0: unknown */
    char *reason;           /* the pod's or container's own reason ("Evicted", "OOMKilled", ...), or NULL */
    char *message; /* why the pod failed, the last lines of the failing container, or why it waits; or NULL */
};

struct pod *pod_parse(const cJSON *object);
/* Keeps what was known of the same pod before: when its kubelet removes it, deletion times are overwritten.
 * Another pod's past has no effect. */
void pod_merge_previous(struct pod *pod, const struct pod *before);
void pod_free(struct pod *pod);

static inline void pod_auto(struct pod **pod)
{
    pod_free(*pod);
}

bool pod_is_terminal(const struct pod *pod);
/* Why a pod that runs is not ready, without period; NULL: it is, or does not run. Caller frees. */
char *pod_describe_unready(const struct pod *pod);
/* Of a pod whose node is not ready: "has not been ready since 2026-11-27T01:39:47Z". Caller frees. */
char *pod_describe_silent_node(const struct pod *pod);
/* Is it deleted or stopped, although its processes may still run? */
bool pod_is_ending(const struct pod *pod);

/* The pod garbage collector sets Failed without looking; unless all containers are known to have ended, such
 * a pod's phase is POD_UNKNOWN here.
 *
 * node_is_fenced: its node carries the out-of-service taint or came back with another boot id.
 * True when no process of this pod can be using IPUs any more: it never had a node and is gone, or it is
 * terminal and every container that started has ended, or its node is fenced. The phase alone proves nothing.
 */
bool pod_has_stopped(const struct pod *pod, bool gone, bool node_is_fenced);
