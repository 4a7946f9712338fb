/* What the verbs of kube_probe share. Each prints one fact per line on stdout and stops the loop when it is
 * done. */
#pragma once

#include "base/core/str.h"
#include "base/io/loop.h"
#include "operator/kube/client/client.h"

struct probe_options {
    char *kubeconfig;
    char *ns;
    char *selector;
    char *body;
    char *type;
    uint32_t count;
    uint32_t idle_timeout_ms;
    uint32_t timeout_ms;
    bool retry_post;
    bool no_lease;
    bool quiet;
    bool debug;
};

struct probe {
    const struct probe_options *options;
    const struct strv *words; /* after the verb */
    struct loop *loop;
    struct kube *kube;
};

/* NULL when no such resource is known here. */
const struct kube_resource *probe_resource(const char *plural);
void probe_print_counters(const struct probe *probe);

/* Each returns when it is done, or after SIGTERM. */
void probe_send(struct probe *probe);
void probe_create(struct probe *probe);
void probe_event(struct probe *probe);
void probe_watch(struct probe *probe);
void probe_lease(struct probe *probe);
