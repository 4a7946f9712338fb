/* A whole small world on virtual time: operators, an API server, nodes, V-IPU controllers, users and their
 * jobs, and what goes wrong between them. Everything follows from the options, so that the same options
 * always give the same run. What must never happen is checked after every step (invariants.h). */
#pragma once

#include "cluster/cluster.h"
#include "world/kinds.h"
#include "fakes/net.h"
#include "world/process.h"
#include "checks/progress.h"

#define WORLD_OPERATOR_NS "ipu-system"
#define WORLD_NS "team"
/* Longer than a watch can be silent before that is noticed, as the real one. */
#define WORLD_HOLD_MS 120000
#define WORLD_TROUBLE_MS 30000
#define WORLD_REQUEUE_MS 20000
#define WORLD_PROCESSES 2
/* All jobs are made within this time. */
#define ARRIVALS_MS 120000

enum crash_moment { CRASH_NEVER, CRASH_BEFORE, CRASH_AFTER };

struct world_options {
    uint64_t seed;
    unsigned jobs;               /* 0: twenty */
    bool is_tampered_with;       /* partitions go and fail, too */
    bool loses_controller;       /* one of the two stops responding at some time, forever */
    bool is_calm;                /* nothing goes wrong, whatever the seed says */
    enum forecast_policy policy; /* of the queue */
    bool has_quota;              /* of a few pods: not for all jobs at once */
    uint32_t ipu_quota;          /* of the namespace; 0: none */
    uint32_t instance_quota;     /* likewise, in the queue; only with ipu_quota */
    bool has_deadlines;          /* jobs are of different sizes, and most have a deadline */
    bool has_preemption;         /* most jobs let those of higher priority have their IPUs */
    bool has_own_places;         /* controllers choose the IPUs of partitions */
    bool has_one_namespace;      /* the operators see jobs of one namespace, and no nodes */
    unsigned crash_at;           /* the operator dies at its n-th write, counted from 1; 0: never */
    enum crash_moment crash_moment;
    const char *kind; /* all jobs are of this kind; NULL: of every */
};

struct world;

/* A PriorityClass; name NULL: none. */
struct user_class {
    const char *name;
    int32_t value;
};

struct user_job {
    struct world *world;
    const struct kind *kind;
    char *name;
    char *uid;                      /* of the last object of that name */
    unsigned failures;              /* that its pods still have in store */
    const char *ended;              /* its state, once it has ended; NULL: it has not */
    uint32_t size;                  /* IPUs of one instance */
    const struct user_class *class; /* of its pods */
    int64_t created_s;
    int64_t resumed_s;      /* when its user resumed it without IPUs; 0: never, or it was served since */
    int64_t served_s;       /* when an instance has got IPUs; 0: none has */
    int64_t waits_since_ms; /* its status has said for so long that it waits in line; 0: it does not */
    bool is_validated;      /* the latest plan says that its template is */
    cJSON *status;          /* the last that was seen; NULL: none */
    int64_t kept_since_ms;  /* jobs that cannot start keep it from IPUs for so long; 0: none does */
    unsigned step;          /* of what its user does */
    unsigned swings;        /* how often it was suspended or resumed */
    struct planned *next;
};

struct world {
    struct world_options options;
    struct loop *server; /* of the API server */
    struct api api;
    struct net net;
    struct sim_vipu sides[2];
    struct cluster cluster;
    struct progress progress;
    struct pool_config controllers;
    struct process *processes[WORLD_PROCESSES];
    struct planned *creations[WORLD_PROCESSES];
    unsigned incarnations;
    struct user_job *jobs;
    size_t job_count;
    int64_t began_ms, storm_ends_ms;
    struct fault_rates storm;    /* until then */
    bool is_tampered;            /* partitions have gone or failed that the operator believed in */
    const struct sim_vipu *lost; /* the controller that never responds again; NULL: none */
    unsigned writes;             /* of the operators, in the order in which they leave */
    int64_t minute;              /* of the clock... */
    size_t writes_in_minute;     /* ...and those of them in it */
    uint64_t vipu_writes;
    unsigned preemptions;     /* records that say so */
    uint64_t forecast_writes; /* of nothing but when a job is expected to start */
    int64_t looks_at_ms;      /* when queue_order.c looks again for IPUs that serve nobody */
    struct map
        used; /* partition -> run of the pods that were started on it since it was made or reset, plus one */
    bool reach_has_changed; /* a program has begun, or a partition was made: see programs.h */
    uint64_t foreign_numbers[2];
    /* who may write: the lease as the API server has it */
    char *leader;
    int64_t lease_ends_ms;
    /* what the checks have found */
    char *broken; /* the sentence, NULL: all is well */
};

struct world *world_new(const struct world_options *options);
void world_free(struct world *world);
/* Runs until all is settled, or something is broken. */
void world_run(struct world *world);
/* The first one counts; all say which invariant, when, and what. */
void world_break(struct world *world, const char *invariant, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* It is started again after so long; -1: never. Not from inside one of its calls. */
void world_kill(struct world *world, size_t process, int64_t away_ms);
struct user_job *world_job(const struct world *world, const char *name);
bool world_is_large(const struct world *world);  /* too many to look through all records at every change */
bool world_is_calm(const struct world *world);   /* nothing goes wrong in it from the start to the end */
bool world_is_prompt(const struct world *world); /* what is sent arrives at once, and once only, if at all */

/* world_faults.c */
void world_plan_trouble(struct world *world);
void world_stop(struct world *world,
                const struct host *host); /* for a while, in the middle of what it does */
/* world_users.c */
void world_plan_users(struct world *world);
void world_users_release(struct world *world);
struct habit world_habit(void *ctx, const cJSON *pod);
