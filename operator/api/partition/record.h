/* The record of a partition: a ConfigMap in the operator's namespace, named after the partition. It is the
 * only proof that the partition is ours, and etcd's unique names arbitrate who may use an id. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/doc/json.h"

struct record {
    char *name; /* = the partition's id */
    char *uid;  /* of the ConfigMap */
    char *resource_version;
    int64_t created_s; /* Unix seconds: when the instance got its IPUs; 0: unknown */
    char *controller;  /* "host:port" */
    char *job_ns, *job_name, *job_uid;
    char *job_key; /* "namespace/name" */
    uint32_t instance;
    uint32_t attempt;  /* counts ids used for this instance, from 0 */
    uint32_t run;      /* counts the times its pods were started on it; pods carry it */
    uint32_t start;    /* counts the starts of its pods over all attempts; agents refuse earlier ones */
    uint32_t restarts; /* failures that were answered by a restart, over all attempts of the instance */
    uint32_t workers;  /* worker pods of the instance */
    bool has_launcher; /* and one that starts the program on them, in the seat behind theirs */
    uint32_t size, gcds, replicas;
    bool reconfigurable;
    bool started;         /* all workers of this run were seen to exist */
    bool launched;        /* the launcher of this run is being created, or was */
    bool outcome_unknown; /* a create or remove was sent whose outcome nobody knows */
    bool releasing; /* a tombstone: the partition goes, the id is not used again before the record has gone */
    char *reason;   /* why it is releasing, or NULL */
    /* The partition has gone; only its id is kept, because a process may live that still knows it. Since
     * then, in Unix seconds; 0: not spent. */
    int64_t spent_s;
    /* A pod of this run was taken away: noted, because the pod goes and the policy still has to be followed.
     */
    char *disruption, *disrupted_pod; /* of reasons.h, and its name; or NULL */
    int64_t disrupted_s;              /* Unix seconds; 0: unknown */
};

/* The job of a partition that is nobody's, and that an admin has given back: no name, no namespace, and this
 * for a uid. Nobody needs to ask whether it has gone. */
#define RECORD_NOBODY "nobody"

bool record_is_ownerless(const struct record *record);
/* Names of Kubernetes objects are narrower than ids of partitions. */
bool record_can_have_name(const char *id);

struct record *record_parse(const cJSON *configmap); /* NULL when it is no record */
void record_free(struct record *record);
/* The same, for a watch; ctx is not used. */
bool record_view_item(void *ctx, const cJSON *item, void **ret);
void record_free_item(void *view);

static inline void record_auto(struct record **record)
{
    record_free(*record);
}

/* The ConfigMap to create, yours. uid, resource_version and created_s of `record` are not
 * used. */
cJSON *record_build(const struct record *record, const char *operator_ns);
/* A merge patch that turns what changes over a record's life into what `record` says, preconditioned on its
 * uid and version: one that arrives late must not undo what was written since. Yours. */
cJSON *record_patch(const struct record *record);
struct record *record_copy(const struct record *from);
uint32_t record_pod_count(const struct record *record); /* pods of the instance */
/* Was the pod of that seat started in this run, as far as the record knows? */
bool record_has_started(const struct record *record, uint32_t pod_index);
