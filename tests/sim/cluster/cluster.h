/* The rest of a Kubernetes cluster around the API server in memory: a scheduler, nodes with kubelets and the
 * processes on them, the node and pod garbage collectors, owner references. The actual state
 * (`node_process`) and what the API server knows are separate: an unreachable node reports nothing, and its
 * processes continue. */
#pragma once

#include "local/api/api.h"
#include "fakes/clock.h"

/* What a pod is going to do once it may. */
struct habit {
    enum { POD_RUNS, POD_CANNOT_PULL, POD_FITS_NOWHERE } how;
    int64_t runs_ms; /* then it ends; -1: never by itself */
    int exit_code;
    int64_t pulls_at_ms; /* POD_CANNOT_PULL: until then; 0: forever */
};

/* A pod on its node, or on its way there: the truth. */
struct node_process {
    struct cluster *cluster;
    struct node_process *prev_living, *next_living; /* while it is alive */
    char *uid, *ns, *name, *job_uid, *partition;
    char *controller; /* "host:port", as passed to its program */
    uint32_t run;
    struct node_side *node; /* NULL: not bound */
    struct habit habit;
    bool is_alive;           /* its program runs and may use the partition's IPUs */
    bool is_over;            /* its program has ended, or never will begin */
    bool is_reported;        /* the API server knows */
    bool is_asked;           /* to go */
    bool knows_no_deadlines; /* its node does not */
    bool is_limited;         /* its deadline is known to its kubelet */
    int64_t started_s;       /* when its kubelet accepted it; 0: not yet */
    int64_t ends_ms;         /* when it ends by itself */
    int64_t goes_since_ms; /* when it was asked to go or to end, its object went, or was disowned; 0: nothing
                              of that */
    int exit_code;
    struct planned *next;
};

enum node_trouble { NODE_IS_WELL, NODE_IS_UNREACHABLE, NODE_HAS_CRASHED };

struct node_side {
    char *name;
    enum node_trouble trouble;
    unsigned boots;
};

struct cluster {
    struct api *api;
    struct node_side nodes[4];
    size_t node_count;
    unsigned addresses;             /* given to pods so far */
    unsigned no_deadlines_permille; /* pods whose node knows no activeDeadlineSeconds, as some providers */
    struct map node_processes;      /* uid -> struct node_process */
    struct node_process *living;
    struct habit (*habit_of)(void *ctx, const cJSON *pod);
    void (*on_start)(void *ctx, const struct node_process *node_process); /* its program begins to run */
    void *ctx;
};

/* nodes: name and "key=value" label of each, or NULL. */
void cluster_init(struct cluster *cluster, struct api *api);
void cluster_add_node(struct cluster *cluster, const char *name, const char *label_key,
                      const char *label_value);
void cluster_release(struct cluster *cluster);
/* To be called with every change of an object. */
void cluster_saw(struct cluster *cluster, enum api_change_type type, const struct api_object *object);
void cluster_break_node(struct cluster *cluster, size_t node, enum node_trouble trouble, int64_t for_ms,
                        bool is_vouched_for);
