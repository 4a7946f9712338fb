/* The identity of an agent, and who may use it: the job, the attempt and the worker that both sides of a
 * connection name before they prove that they have the worker's key. Format: <job uid>/<attempt>/<worker
 * index>. Pure. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "launcher/env/envv.h"

/* The job's uid; letters, digits and '-', at most IDENTITY_JOB_MAX. */
#define IDENTITY_ENV_JOB "IPU_JOB_UID"
/* Increases whenever the instance's pods are created again. */
#define IDENTITY_ENV_ATTEMPT "IPU_JOB_ATTEMPT"

#define IDENTITY_JOB_MAX 63u
#define IDENTITY_TEXT_MAX 96u /* with the terminating NUL */
#define IDENTITY_KEY_BYTES 32u

struct identity {
    char job[IDENTITY_JOB_MAX + 1];
    uint32_t attempt;
    uint32_t worker;
};

/* Why a client is rejected. */
enum rejection {
    REJECTION_NONE,
    REJECTION_NO_IDENTITY, /* no identity at all, or one of another format */
    REJECTION_JOB,
    REJECTION_WORKER,
    REJECTION_STALE_ATTEMPT,
    REJECTION_KEY,
    REJECTION_TIMEOUT,
    REJECTION_REQUEST,
    REJECTION_EVICTED,
    REJECTION_BUSY,
    REJECTION_COUNT,
};

/* Job and attempt; the worker is 0. ERR_INVALID names every variable that is missing or invalid. */
MUST_USE bool identity_read(const struct envv *env, struct identity *ret, struct err *err);
MUST_USE bool identity_parse(const char *text, struct identity *ret);
void identity_print(const struct identity *identity, char ret[IDENTITY_TEXT_MAX]);
/* Whether `client` may use the agent `own`, whose attempt is the newest that it has seen. */
enum rejection identity_check(const struct identity *own, const char *client, struct identity *ret);
const char *rejection_text(enum rejection rejection);
