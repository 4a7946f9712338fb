/* The node of a local run: what kubelet and scheduler do for pods, with processes of this machine. It sees
 * pods through the API server's hook and writes their statuses there. */
#pragma once

#include "base/core/map.h"
#include "local/api/api.h"
#include "local/node/engine.h"

struct container_line;

struct node_options {
    const char *name;
    const char *address;         /* of all its pods: they use this machine's network */
    const struct str *hosts;     /* text of /etc/hosts, to which a pod's own names are added; may grow */
    const char *pods_dir;        /* for the pods' files; exists */
    const char *logs_dir;        /* for logs, NAMESPACE has no part in their names; exists */
    const char *launcher_dir;    /* with ipu-launch and what goes with it */
    const char *work_dir;        /* of containers without workingDir */
    const struct strv *env;      /* of this program; processes inherit it */
    const struct sandbox *binds; /* shown in every container, besides its volumes */
    enum engine engine;
    void (*on_line)(void *ctx, const cJSON *pod, const char *container, const struct container_line *line);
    void (*on_trouble)(void *ctx, const char *text); /* a file of the run cannot be written */
    char *(*token)(void *ctx, const cJSON *pod);     /* by which its program is known; owned by the caller */
    void *ctx;
};

struct node {
    struct loop *loop;
    struct api *api;
    struct node_options options;
    struct map pods; /* uid -> struct node_pod */
};

/* Creates the Node object. */
void node_init(struct node *node, struct loop *loop, struct api *api, const struct node_options *options);
void node_saw(struct node *node, enum api_change_type type, const struct api_object *pod);
void node_kill_all(struct node *node); /* at once, whatever the grace periods */
size_t node_pod_count(const struct node *node);
void node_release(struct node *node); /* kills what still runs */
