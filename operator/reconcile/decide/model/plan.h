/* The next steps for one job, as data: a plan can be printed, compared and interrupted. An empty plan means
 * that the job is settled, or that it waits for an event which reconciles it again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/str.h"
#include "base/doc/json.h"
#include "operator/api/job/indexset.h"

struct pod;
struct record;

enum op_kind {
    OP_FINALIZER_ADD, /* with the name of this operator */
    OP_FINALIZER_REMOVE,
    OP_JOB_DELETE, /* name, uid: of a finished job whose ttlSecondsAfterFinished has passed */
    OP_CLAIM,      /* instances, ready: they wait for IPUs; keep their place in the queue. One op for all */
    OP_OFFER, /* name = partition, whose pods cannot start, reason and text: why; ready: a job that waits for
                 its IPUs gets them; now: there is such a job, and they are given up */
    OP_DRY_RUN, /* can pods of this template be created, and which priority do they get? */
    OP_SERVICE_CREATE,
    OP_ENDPOINTS_WRITE,  /* name, body: the EndpointSlice; uid: of the existing one, NULL: none */
    OP_POLICY_CREATE,    /* the NetworkPolicy */
    OP_KEYS_CREATE,      /* instance, name = partition; ready: pods of this start exist already */
    OP_KEYS_DELETE,      /* name */
    OP_RECORD_CREATE,    /* record */
    OP_RECORD_PATCH,     /* record; reason: of the restart that it counts, of reasons.h */
    OP_RECORD_DELETE,    /* name, uid; ready: its id belongs to another owner */
    OP_PARTITION_CREATE, /* name, record */
    OP_PARTITION_RESET,  /* name */
    OP_PARTITION_REMOVE, /* name */
    OP_POD_CREATE,       /* instance, worker (the pod's index), name = partition */
    OP_POD_STOP,         /* name, uid, version; text: the time of the stop */
    OP_POD_DELETE,       /* name, uid, version; now: without waiting for its node */
    OP_STATUS,           /* body: the whole status */
    OP_EVENT,            /* reason, text, warning */
};

struct op {
    enum op_kind kind;
    char *name; /* of the pod, record or partition */
    char *uid;
    char *version; /* the resource version that must match; NULL: any */
    uint32_t instance, worker;
    struct indexset instances;
    struct record *record; /* owned */
    cJSON *body;           /* owned */
    char *reason, *text;
    bool warning;
    bool ready;
    bool now;
};

struct plan {
    struct op *ops;
    size_t count, cap;
    int64_t again_at_ms; /* reconcile again at this time; 0: only when something changes */
    char *hold;       /* the first partition that is held because processes may still use it, and until when;
                         NULL: none is */
    struct strv held; /* ids of all of them */
    bool holds_details; /* numbers of the status have changed and are written with the next change */
};

struct op *plan_add(struct plan *plan,
                    enum op_kind kind); /* zeroed but for kind; borrowed until the next add */
void plan_pod_delete(struct plan *plan, const struct pod *pod); /* unless it is being deleted already */
/* Ends a pod without deleting it: with activeDeadlineSeconds: 1 its kubelet ends it, as a deletion would, and
 * keeps it with its log. An annotation tells that from a deadline of the template. */
void plan_pod_stop(struct plan *plan, const struct pod *pod, int64_t now_unix_s);
/* Deletes a pod without waiting for its node: none of its processes can use the partition any more, and its
 * name is needed. */
void plan_pod_drop(struct plan *plan, const struct pod *pod);
struct op *plan_record_delete(struct plan *plan,
                              const struct record *record);            /* borrowed until the next add */
void plan_keys_delete(struct plan *plan, const struct record *record); /* those of its last run */
/* The record that is patched counts another restart; NULL: after all it does not. For metrics. */
void plan_note_restart(struct plan *plan, const struct record *record, const char *reason);
void plan_claim(struct plan *plan, uint32_t instance, bool ready);
void plan_claim_all(struct plan *plan, const struct indexset *instances, bool ready);
const struct op *plan_claims(const struct plan *plan); /* OP_CLAIM, or NULL; borrowed until the next add */
void plan_hold(struct plan *plan, const char *partition, char *text_take);
void plan_event(struct plan *plan, const char *reason, const char *text, bool warning);
void plan_again_at(struct plan *plan, int64_t at_ms); /* the earliest wins */
/* Has that time come? If not, the job is reconciled again then. */
bool plan_is_due(struct plan *plan, int64_t now_ms, int64_t at_ms);
/* Is `now` within that many seconds of that Unix time (0: never)? Then the job is reconciled again when it
 * no longer is. */
bool plan_is_within(struct plan *plan, int64_t now_ms, int64_t now_unix_s, int64_t from_s, int64_t length_s);
bool plan_has(const struct plan *plan, enum op_kind kind);
/* The next view's details_since_ms, from this one's. */
int64_t plan_details_since(const struct plan *plan, int64_t since_ms, int64_t now_ms);
void plan_print(const struct plan *plan,
                struct str *out); /* one line for each op, for golden files and debugging */
void op_release(struct op *op);
void plan_release(struct plan *plan);

static inline void plan_auto(struct plan *plan)
{
    plan_release(plan);
}
