/* Pod templates that the API server has just admitted in a namespace, has just refused, or is being asked
 * about: an array of like jobs is judged once, not a thousand times. Short-lived, because quotas and policies
 * change. Pure: time is an argument. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/map.h"
#include "operator/api/job.h"

#define ADMITTED_FOR_MS 5000

struct admitted {
    struct map templates; /* fingerprint -> struct judged */
};

struct judgement {
    const char *reason;  /* CamelCase: such pods are refused for now; NULL: they are taken */
    const char *text;    /* REFUSED: the API server's words */
    int64_t retry_at_ms; /* REFUSED: when to ask again; later and later as long as they are */
    int32_t priority;    /* of the pods, as the API server reads the template's PriorityClass */
};

/* NULL: nobody knows. Borrowed until the next call. */
const struct judgement *admitted_judgement(const struct admitted *admitted, const struct job *job,
                                           int64_t now_ms);
/* True: the caller asks, and calls admitted_answer when it knows. False: somebody is asking already, and its
 * admitted_answer names this job among those who wait. */
bool admitted_ask(struct admitted *admitted, const struct job *job);
/* NULL: the answer says nothing about other jobs. Its text is copied, and when to ask again is filled in.
 * Moves the keys of the jobs that waited for this answer into ret_waiting. */
void admitted_answer(struct admitted *admitted, const char *fingerprint, struct judgement *judgement,
                     int64_t now_ms, struct strv *ret_waiting);
char *admitted_fingerprint(const struct job *job); /* yours */
void admitted_release(struct admitted *admitted);
