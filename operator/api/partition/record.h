/* The record of a partition: a ConfigMap in the operator's namespace, named after the partition. It is the
 * only proof that the partition is the operator's, and because names are unique in etcd, only one job can
 * use an id. Pure. */
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
    char *place;       /* of its IPUs, as vipu_pool_part_name has it; NULL: the controller chooses */
    char *job_ns, *job_name, *job_uid;
    char *job_key; /* "namespace/name" */
    uint32_t instance;
    uint32_t attempt;  /* counts ids used for this instance, from 0 */
    uint32_t run;      /* counts the times its pods were started on it; pods carry it */
    uint32_t start;    /* counts the starts of its pods over all attempts; agents reject earlier ones */
    uint32_t restarts; /* failures that were answered by a restart, over all attempts of the instance */
    uint32_t workers;  /* worker pods of the instance */
    bool has_launcher; /* and one launcher pod, with the index after theirs */
    uint32_t size, gcds, replicas;
    bool reconfigurable;
    /* While it is recorded, the instance has no more time than the job allowed when it got the IPUs, because
     * others may have been let past or promised a start by that. 0: there was no limit, or no such promises.
     */
    uint32_t limit_s;
    uint32_t grace_s;     /* with it: how long its pods may take to stop */
    bool started;         /* all workers of this run have existed */
    bool launched;        /* the launcher of this run is being created, or was */
    bool outcome_unknown; /* a create or remove was sent and its outcome is unknown */
    bool releasing; /* a tombstone: the partition is being removed, and its id is not reused before the record
                       is gone */
    char *reason;   /* why it is releasing, or NULL */
    /* The partition is gone; only its id is reserved, because a process that knows it may still run. Since
     * then, in Unix seconds; 0: not reserved. */
    int64_t spent_s;
    /* A pod of this run was disrupted: recorded here because the pod disappears and the restart policy still
     * has to be applied. */
    char *disruption, *disrupted_pod; /* of reasons.h, and its name; or NULL */
    int64_t disrupted_s;              /* Unix seconds; 0: unknown */
    int32_t priority; /* in the queue, when it got its IPUs; INT32_MAX: unknown, so that nobody preempts it */
    /* The job of higher priority, "namespace/name", for which its pods are stopped and its IPUs released.
     * Here because another process has to go on with that. */
    char *preemptor;
    uint32_t preemptions; /* so far, over all attempts of the instance */
};

/* The job of an orphan that an admin has released: no name, no namespace, and this as uid. Such a job does
 * not exist, so it is not looked up. */
#define RECORD_NO_JOB_UID "nobody"

bool record_is_ownerless(const struct record *record);
/* Whether its job holds the IPUs. A record that is releasing may stay while the instance waits for others, to
 * keep the id, so it counts only if its partition exists; who cannot know that passes false. */
bool record_holds_ipus(const struct record *record, bool is_listed);
/* Names of Kubernetes objects are more restricted than ids of partitions. */
bool record_can_have_name(const char *id);

struct record *record_parse(const cJSON *configmap); /* NULL if it is not a record */
void record_free(struct record *record);
/* The same, as a callback of watch; ctx is unused. */
bool record_view_item(void *ctx, const cJSON *item, void **ret);
void record_free_item(void *view);

static inline void record_auto(struct record **record)
{
    record_free(*record);
}

/* The ConfigMap to create, owned by the caller. uid, resource_version and created_s of `record` are not
 * used. */
cJSON *record_build(const struct record *record, const char *operator_ns);
/* A merge patch that updates the mutable part of a record to `record`, with its uid and version as
 * preconditions: a delayed patch must not undo a later one. Owned by the caller. */
cJSON *record_patch(const struct record *record);
struct record *record_copy(const struct record *from);
uint32_t record_pod_count(const struct record *record); /* pods of the instance */
/* Whether the pod with that index was started in this run, as far as the record says. */
bool record_has_started(const struct record *record, uint32_t pod_index);
