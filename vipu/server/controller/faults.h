/* Fault injection: faults that a V-IPU controller injects, for tests and for developers of clients. Pure:
 * code that responds to a call, ends an operation or checks the hardware asks here which fault to inject;
 * matches are counted. It delays nothing, drops nothing and reads no clock.
 *
 * Rules are checked in their order. Counted rules and a random generator with a seed make runs repeatable. A
 * zeroed struct faults has none. Owned contents, freed by faults_release; faults_doc.h has the written
 * format. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/mem.h"

#define FAULTS_ALWAYS UINT32_MAX /* a rule without end; an agent with all of its IPUs */
#define FAULTS_MAX_RULES 256u    /* of each kind */

/* A time, or with `up_to` above `ms` any time between the two. */
struct fault_delay {
    uint32_t ms, up_to;
};

/* Of the matches of a rule: the first `after` are skipped, then it applies to `times` with `chance` percent.
 */
struct fault_count {
    uint32_t after, times, chance;
};

struct fault_call {
    char *method;    /* pattern with '*' and '?', such as "Create*"; NULL: every method */
    char *partition; /* pattern; NULL: every call, including those without a partition */
    struct fault_count count;
    struct fault_delay latency; /* before it runs */
    struct fault_delay late;    /* between running it and the response */
    unsigned status;            /* gRPC status instead of the response; 0: none */
    char *message;              /* with the status */
    bool drop;                  /* the connection is closed instead of a response */
    bool takes_effect;          /* with status or drop: it runs all the same */
};

enum fault_moment {
    FAULT_NOW,
    FAULT_CREATE,
    FAULT_RESET,
    FAULT_REMOVE,
};

struct fault_partition {
    char *partition; /* pattern; NULL: every partition */
    unsigned on;     /* enum fault_moment */
    struct fault_count count;
    char *error; /* its error message; NULL: a default message */
};

struct fault_hardware {
    char *agent;  /* pattern */
    uint32_t ipu; /* number on the board, as in gc-info; FAULTS_ALWAYS: the agent with all of its IPUs */
    char *error;
    uint32_t for_ms; /* since faults_begin */
};

/* What the public API does not define: each flag selects the behaviour that this server does not have by
 * default. */
struct fault_quirks {
    bool unknown_status;
    bool blocking_operations;
    bool remove_unknown_succeeds;
    bool create_existing_succeeds;
    bool reset_stays_active;
    bool list_hides_pending;
};

struct faults {
    uint32_t seed;         /* state of the random generator */
    bool stall;            /* no responses until the faults are replaced */
    uint32_t stall_ms;     /* no responses for so long */
    uint32_t linger_ms;    /* how long removed partitions stay visible */
    bool forget;           /* one-time: every partition is lost */
    bool drop_connections; /* one-time: every connection is closed */
    struct fault_quirks quirks;
    struct fault_call *calls;
    size_t call_count;
    struct fault_partition *partitions;
    size_t partition_count;
    struct fault_hardware *hardware;
    size_t hardware_count;
    int64_t begin_ms;
};

/* What to do with one call. */
struct fault_verdict {
    uint32_t latency_ms, late_ms;
    unsigned status;     /* 0: the regular status of the call */
    const char *message; /* borrowed from the faults */
    bool drop;
    bool takes_effect;
};

void faults_release(struct faults *faults);
DEFINE_AUTO(faults);
/* Activates the faults: their times count from here. */
void faults_begin(struct faults *faults, int64_t now_ms);
/* When something changes by itself: a stall ends, hardware works again. -1: never. */
int64_t faults_next_ms(const struct faults *faults, int64_t now_ms);

/* The rest of a duration that began with faults_begin; FAULTS_ALWAYS is unchanged. */
uint32_t faults_left_ms(const struct faults *faults, uint32_t duration_ms, int64_t now_ms);

/* Calls neither run nor get responses. */
bool faults_is_stalled(const struct faults *faults, int64_t now_ms);
/* Counts a call. partition is "" for a call without one. Delays of all rules that apply are added; the first
 * one with a status or a drop decides the response. */
struct fault_verdict faults_on_call(struct faults *faults, const char *method, const char *partition);
/* Why this partition's operation is going to fail; NULL if it is not. Counts; the caller frees it. */
char *faults_on_operation(struct faults *faults, const char *partition, enum fault_moment moment);
/* Why this IPU does not work now, NULL if it does; the caller frees it. */
char *faults_of_ipu(const struct faults *faults, const char *agent, uint32_t board_ipu, int64_t now_ms);
bool faults_have_hardware(const struct faults *faults, int64_t now_ms);

/* '*' matches any number of characters, '?' one. */
bool fault_pattern_matches(const char *pattern, const char *text);
