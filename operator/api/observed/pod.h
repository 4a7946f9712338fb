/* What the operator knows of a pod, and the one question that decides when IPUs may be given back: is it
 * quiet? Pure. See docs/ARCHITECTURE.md, "When IPUs may be given back". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/doc/json.h"

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };

/* No instance has so many pods; a label that says more is nobody's. */
#define POD_SEATS_MAX 8192

/* One block with its texts behind it, which nobody may replace. */
struct pod {
    char *ns, *name, *uid, *resource_version;
    char *job_uid;   /* of the controlling IPUJob, or NULL */
    char *job_name;  /* owner's name, or NULL */
    char *job_key;   /* "namespace/name" of the owner; "" without one */
    char *partition; /* annotation: the partition id it was started on, or NULL */
    char *node;      /* or NULL */
    char *ip;        /* its address, or NULL */
    char *host;      /* its host name where that is not its name, or NULL */
    uint32_t run;    /* annotation: which start on that partition */
    uint32_t instance;
    uint32_t worker;     /* its seat in the instance: workers first, the launcher behind them */
    uint16_t agent_port; /* where its agent listens; 0 without one */
    uint64_t revision;   /* annotation: of the template it was made from; 0: not told */
    enum pod_phase phase;
    bool deleting;
    bool deleted_while_running; /* it was asked to go before it ended: how it ends says nothing about its
                                   program */
    bool ready;
    bool sandbox_not_ready;      /* its node says that its volumes or its network are not there */
    bool has_started;            /* a container of it has started: its volumes are there */
    bool started_all_terminated; /* every container that started has state.terminated */
    bool main_done;              /* the first container, and every other that is no sidecar, has terminated */
    /* Unix seconds; 0: not yet */
    int64_t created_s;
    int64_t scheduled_s;            /* a node was found for it */
    int64_t started_s;              /* its node took it up */
    int64_t begun_s;                /* the first of its containers started, those that prepare it aside */
    int64_t ready_s;                /* since when it is ready */
    int64_t finished_s;             /* Unix seconds of the last container's end; 0 when none has ended */
    int64_t failed_s;               /* of the end of the container that failed first; 0 when none has */
    int64_t termination_deadline_s; /* until then its program has time to end; 0: it is not deleted */
    int exit_code;                  /* of that container, else 0; native sidecars do not count */
    int exit_signal;
    bool oom_killed;
    char *sidecar_still_running; /* the first container has ended, and this one, no sidecar, runs; or NULL */
    char *failed_container;      /* its name, or NULL */
    char *failed_reason;         /* Kubernetes' word for its end, such as Error or OOMKilled; or NULL */
    const char *trouble;         /* of reasons.h: why it waits, or why it failed; NULL: nothing is wrong */
    const char
        *disruption;     /* of reasons.h: who takes it away before it ended; NULL: nobody but a user or us */
    int64_t disrupted_s; /* since when; 0: unknown */
    char *reason;        /* the pod's or container's own reason ("Evicted", "OOMKilled", ...), or NULL */
    char *message;       /* why the pod failed, the last lines of the failing container, or why it waits;
                            or NULL */
};

struct pod *pod_parse(const cJSON *object);
/* What was known of the same pod before stays known: when its kubelet lets go of it, the time at which it was
 * asked to go is overwritten. Another pod's past changes nothing. */
void pod_merge_previous(struct pod *pod, const struct pod *before);
void pod_free(struct pod *pod);

static inline void pod_auto(struct pod **pod)
{
    pod_free(*pod);
}

bool pod_is_terminal(const struct pod *pod);

/* The pod garbage collector sets Failed without looking; unless all containers are known to have ended, such
 * a pod's phase is POD_UNKNOWN here.
 *
 * node_is_fenced: its node carries the out-of-service taint or came back with another boot id.
 * True when no process of this pod can be using IPUs any more: it never had a node and is gone, or it is
 * terminal and every container that started has ended, or its node is fenced. The phase alone proves nothing.
 */
bool pod_has_stopped(const struct pod *pod, bool gone, bool node_is_fenced);
