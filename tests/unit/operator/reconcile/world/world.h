/* A whole small world around one job, in memory and on virtual time: an API server, nodes with processes on
 * them, a V-IPU controller, and what one operator process remembers. A test moves it step by step, or lets
 * dice do it. Every plan is performed by world_apply, which checks on the way what must never happen, against
 * what is really so and not against what the operator believes.
 *
 * The world keeps the rules of the real parts: a process lives until its node says otherwise, a kubelet
 * reports late or never, only a list tells what became of a write. */
#pragma once

#include "operator/reconcile/decide/decide.h"

#define WORLD_START_MS 1000000
#define WORLD_HOLD_MS 300000
#define WORLD_TROUBLE_MS 30000
#define WORLD_REQUEUE_MS 60000
/* A request that nobody waits for any more may still take effect so much later. */
#define WORLD_STRAY_MS 34000
#define WORLD_CAPACITY 64
#define WORLD_OPERATOR_NS "ipu-system"
#define WORLD_REJECTED_WRITE "the API server does not let the operator write it: forbidden"

enum wpod_report { REPORT_NOTHING, REPORT_WAITING, REPORT_RUNNING, REPORT_ENDED };

struct wpod {
    char *name, *uid, *partition, *node;
    char *keys; /* the Secret that it mounts, or NULL */
    uint32_t instance, worker, run;
    uint64_t revision;
    bool is_launcher;
    const char *launcher_image; /* of its ipu-launch */
    bool is_unready;            /* though it runs */
    bool fails_probe;           /* though it runs: its kubelet says so... */
    bool node_not_ready;        /* ...or the node controller, of a kubelet that is silent */
    const char *ip;             /* its address, once it runs; NULL: one of its own */
    bool is_slow;               /* its node prepares it */
    bool sandbox_not_ready;     /* and says that it has not got its volumes */
    bool running_init;          /* its init container "wait" runs */
    bool exists;                /* as an object */
    bool process;               /* the truth: something of it runs and may use IPUs */
    enum wpod_report report;
    int exit_code;
    int64_t ended_s;
    bool is_gated;
    const char *waits_for;  /* the scheduler's words; NULL: it is not stuck */
    const char *waits_in;   /* the container's reason for waiting, such as ImagePullBackOff */
    const char *ended_by;   /* the pod's own reason, such as Evicted */
    bool is_out_of_memory;  /* its container's */
    const char *last_words; /* of its log, when it fails */
    const char *taken_by;   /* who takes it away, as DisruptionTarget says, such as PreemptionByScheduler */
    bool has_running_sidecar;
    bool has_lingering; /* its program has ended, with exit_code, and another container has not */
    bool deleting, collected, node_silent, node_fenced;
    int64_t scheduled_ms;
    int64_t created_ms;
    int64_t asked_ms;    /* when it was asked to go; 0: never */
    int64_t stopped_ms;  /* when the operator gave it a deadline that has passed; 0: never */
    int64_t vanished_ms; /* when its object went */
};

struct world_partition {
    char *id;
    uint32_t size, gcds;
    enum partition_state state;
    bool is_foreign;
    bool is_beyond_repair; /* no reset mends it */
    unsigned resets;
    uint32_t
        used_by_run; /* plus one: pods of that run were created on it since it was made or reset; 0: none */
};

enum wcall { CALL_NONE, CALL_CREATE, CALL_RESET, CALL_REMOVE };

struct wworker {
    enum worker_state state;
    char *pod, *node;
    struct wpod *what;
    int64_t since_ms;
    bool is_ending;
    const char *disruption;
    int64_t disrupted_s;
};

/* What the operator's process knows of a partition: the rules of pool.c and job_cache.c. */
struct wtrack {
    char *id;
    struct partition_view view;
    enum wcall call, await;
    int64_t await_until_ms;
    unsigned sends;
    bool is_ours_fresh, created_in_run, started;
    uint32_t run, size, gcds;
    int64_t since_ms, run_since_ms;
    struct wworker *workers; /* by seat */
    uint32_t worker_count;
    enum keys_state keys;
    int64_t keys_at_ms;
    bool launch_noted_by_us, is_rejected, is_given_up;
    int64_t offered_since_ms;
    const char *preemptor; /* the job that gets its IPUs, or NULL */
};

struct wstray {
    int64_t at_ms;
    enum wcall call;
    char *id;
    uint32_t size, gcds;
};

struct world {
    uint64_t random, seed;
    int64_t now_ms;

    /* the API server */
    char *name;
    cJSON *spec, *status;
    int64_t generation, created_s;
    bool exists, deleting, finalizer;
    struct wpod **pods; /* also those whose object has gone, for their processes */
    size_t pod_count;
    cJSON **records;
    size_t record_count;
    struct strv secrets; /* names of those with keys */
    bool secrets_were_dropped;
    struct strv event_reasons; /* reasons of events */
    struct strv event_notes;   /* and their texts */
    const char *release;       /* the annotation of the job; NULL: none */
    const char *operator_ns;   /* that with the finalizer; NULL: none */
    const char *other_finalizer;
    unsigned uids, status_writes, events, writes;

    /* the V-IPU controller */
    struct world_partition *partitions;
    size_t partition_count;
    struct strv disturbed; /* ids of partitions that somebody else broke or removed */
    struct wstray *strays;
    size_t stray_count;

    /* the operator's process */
    struct wtrack **tracks;
    size_t track_count;
    struct strv taken;
    enum dry_run_state dry_run;
    int64_t dry_run_generation, dry_run_retry_at_ms, create_rejected_ms, create_retry_at_ms, again_at_ms;
    bool has_service, has_policy;
    int64_t details_since_ms;
    const char *pending_record; /* nobody has answered for its creation... */
    int64_t pending_until_ms;   /* ...which may come until then */
    bool is_busy;               /* with other jobs */
    bool resets_are_rejected;   /* by V-IPU */
    bool lists_other_gcds;      /* than were asked for */
    const char *prefix;         /* of readable ids */
    bool service_has_selector;  /* an earlier version has made it */
    cJSON **slices;             /* EndpointSlices */
    size_t slice_count;
    unsigned name_writes;   /* of them */
    bool gives_vipu_access; /* the V-IPU controller's Secret has something for pods */

    /* what the test wants to go wrong */
    enum dry_run_state dry_run_answer; /* DRY_RUN_NEEDED: passes */
    const char *rejection;             /* the API server does not take pods: its words */
    const char *forbidden_as;          /* what the dry run's rejection is; NULL: a quota */
    uint32_t quota;                    /* and from so many on that have not ended; 0: from the first */
    bool rejects[OP_EVENT + 1];        /* nor does it do what these ops ask for, likewise */
    bool service_taken;                /* somebody has one of that name */
    bool create_rejected;              /* it has said so */
    bool write_rejected;               /* likewise, of another write than what pods need: of... */
    enum op_kind write_rejected_op;    /* ...this kind */
    bool endpoints_rejected;
    const char *names_rejection; /* it does not take EndpointSlices: its words */
    const char *launcher_image;  /* that new pods get */
    const char *unready;         /* name of a pod that runs and is not ready when it is new */
    bool no_grants;
    bool keeps_limits; /* the queue lets others past by the limits of those that have IPUs */
    bool others_wait;  /* for the IPUs of this job */
    uint32_t requeues; /* starts of it that gave them up, in a row; for... */
    char *requeue_reason, *requeue_text;          /* ...that */
    enum partition_rejection partition_rejection; /* what the controller answers to creates */
    bool controller_down;
    const char *story; /* printed when something must not be; or NULL */
    struct str *plans; /* every plan with something to do is printed there; or NULL */
};

struct world *world_new(const char *spec);
void world_free(struct world *w);

static inline void world_auto(struct world **w)
{
    world_free(*w);
}

uint64_t world_roll(struct world *w, uint64_t sides);
cJSON *world_job(const struct world *w);         /* as the API server would send it; owned by the caller */
cJSON *world_pod_object(const struct wpod *pod); /* likewise */
int64_t world_unix_s(const struct world *w);
struct wpod *world_pod(struct world *w, const char *name); /* the object of that name; NULL: none */
cJSON *world_record(struct world *w, const char *name);
size_t world_held(const struct world *w);               /* records that stand for a partition */
bool world_is_spent(struct world *w, const char *name); /* a record that only keeps its id from use */
struct world_partition *world_partition(struct world *w, const char *id);
void world_drop_secrets(struct world *w);                                  /* somebody deletes them */
void world_set_spec(struct world *w, const char *field, const char *json); /* a new generation */
void world_delete_job(struct world *w);

/* ---- nodes ---- */
void world_pod_schedule(struct world *w, struct wpod *pod);
void world_pod_run(struct world *w, struct wpod *pod, bool is_reported);
void world_pod_end(struct world *w, struct wpod *pod, int exit_code);
void world_pod_delete(struct world *w, struct wpod *pod);               /* as kubectl delete does */
void world_pod_take(struct world *w, struct wpod *pod, const char *by); /* as drain, preemption, taints do */
bool world_pod_must_obey(const struct wpod *pod);
void world_pod_obey(struct world *w, struct wpod *pod, int exit_code); /* its kubelet ends it, and removes
                                                                          it if it is deleted */
void world_pod_vanish(struct world *w, struct wpod *pod, bool unseen); /* the object goes, whatever runs */
void world_pod_collect(struct world *w, struct wpod *pod);             /* the garbage collector marks it */
void world_pod_fence(struct world *w, struct wpod *pod);               /* its node boots anew */

/* ---- the V-IPU controller ---- */
void world_partition_add(struct world *w, const char *id, uint32_t size, uint32_t gcds, bool is_foreign);
void world_partition_drop(struct world *w, const char *id);
void world_partition_disturb(struct world *w, const char *id,
                             enum partition_state state); /* by somebody else */
uint32_t world_ipus_used(const struct world *w);
enum wfate { FATE_DONE, FATE_DONE_UNKNOWN, FATE_LOST_UNKNOWN, FATE_LATE_UNKNOWN };
void world_call_end(struct world *w, struct wtrack *track, enum wfate fate);
void world_list(struct world *w, struct wtrack *track);
void world_partition_settle(struct world *w, struct world_partition *partition); /* pending becomes active */

/* ---- the operator ---- */
struct wtrack *world_track(struct world *w, const char *id); /* NULL: not followed */
struct wworker *world_worker(struct wtrack *track, uint32_t worker);
void world_follow(struct world *w, const struct record *record);
void world_saw_pod(struct world *w, struct wpod *pod);
void world_missed_pod(struct world *w, struct wpod *pod, bool unseen);
void world_untrack(struct world *w, const char *id);
void world_forget(struct world *w); /* all of it */
void world_crash(struct world *w);  /* and a new process begins */

struct snapshot; /* what is observed, and what it stands on */
struct snapshot *world_observe(struct world *w);
const struct job_view *snapshot_view(const struct snapshot *snapshot);
/* With a view of each idle instance. */
struct job_view snapshot_listed_view(const struct snapshot *snapshot);
void snapshot_free(struct snapshot *snapshot);

/* Performs the plan; with some_only each op by chance, as when the process dies in the middle. */
void world_apply(struct world *w, const struct job_view *view, const struct plan *plan, bool some_only);
bool plan_writes(const struct plan *plan);

/* Observes, decides and acts once; true when there was something to do. None of it may be planned again as
 * long as nothing else happens: that is checked here, in every story and every history. */
bool world_reconcile(struct world *w);

/* ---- scripts ---- */
/* Everything that is under way arrives, nothing fails, pods start; no time passes. */
void world_settle(struct world *w);
bool world_advance(struct world *w);          /* one step of it; false when nothing was under way */
void world_pass(struct world *w, int64_t ms); /* then settles */
const char *world_said(const struct world *w, const char *path); /* text of status, "" when absent */
int64_t world_number(const struct world *w, const char *path);   /* -1 when absent */
_Noreturn void world_fail(const struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
