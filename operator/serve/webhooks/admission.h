/* The answers of the two admission webhooks: AdmissionReview v1 in, AdmissionReview v1 out. Pure.
 *
 * Every mistake is named at once, in the words that the reconciler has for them (operator/api), with what the
 * API server reports about a pod template. The API server calls the mutating webhook before it looks at
 * the schema and the rules of the resource definition, so that one rejects a job with mistakes that can be
 * found here, and otherwise writes out what a user left open. The validating one validates the job as it will
 * be stored, after other webhooks have changed it. A request that does not change the spec, or whose object
 * is being deleted, is allowed without validation, so that invalid objects can be deleted. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "base/doc/json.h"
#include "operator/api/queue/queue_limits.h"
#include "operator/api/admission/warnings.h"

#define ADMISSION_MAX_BYTES ((size_t)7 * 1024 * 1024) /* two objects of the API server's own limit, 3 MiB */
/* Jobs have a thousand or two; a change brings the job twice. */
#define ADMISSION_MAX_VALUES ((size_t)100 * 1000)
/* Of all reviews in progress; a larger one is reviewed alone. A tree and the copies that are made of it take
 * some four times as much. It is enough for some hundred usual jobs at a time: more than an API server has in
 * flight. */
#define ADMISSION_MAX_COST_BYTES ((size_t)8 * 1024 * 1024)

struct admission {
    cJSON *review;
    const char *uid; /* borrowed from the review, as all that follows */
    const char *ns;
    const cJSON *object; /* NULL: nothing to validate */
    const cJSON *old;    /* NULL: it is new */
    size_t cost_bytes;   /* bytes of its text, and of a tree's nodes */
};

/* ERR_INVALID when it is no AdmissionReview that could be answered, or one of too many values. */
MUST_USE bool admission_read(struct slice body, struct admission *ret, struct err *err);
/* Beside other reviews in progress with this total weight: ERR_BUSY when it is too much. */
MUST_USE bool admission_fits(const struct admission *admission, size_t others, struct err *err);
/* The response to a request that is not reviewed, for one of these reasons: a Status; owned by the caller. */
char *admission_reject_unread(const struct err *why, int *ret_http_status);
void admission_release(struct admission *admission);
DEFINE_AUTO(admission);

/* The mutating webhook's response to a job without mistakes; owned by the caller. */
char *admission_mutate(const struct admission *admission);

/* "namespace/name" for the log; with "*" where the API server will complete the name. Owned by the caller. */
char *admission_job(const struct admission *admission);

/* False: to be allowed as it is. */
bool admission_needs_validation(const struct admission *admission);
/* Every mistake that can be found here. */
void admission_validate(const struct admission *admission, struct strv *problems);
/* Whether a job that has IPUs keeps its limits, as validate_limits has it. */
void admission_check_limits(const struct admission *admission, struct strv *problems);
/* Whether the queue has place for its instances, and its namespace for its templates; of a job without
 * problems. */
void admission_check_queue(const struct admission *admission, const struct queue_limits *limits,
                           const struct queue_counts *counts, struct strv *problems);

/* Pods that the API server is asked about: the workers', and their launcher's where spec.launcher says
 * something about it, as the two templates make it. */
enum admission_pods { ADMISSION_WORKERS, ADMISSION_LAUNCHER, ADMISSION_PODS };

/* The PodTemplate whose dry-run shows whether the API server would accept such pods; NULL if there are none
 * of them, or if they are unchanged. Owned by the caller. */
cJSON *admission_pod_template(const struct admission *admission, enum admission_pods pods);
/* The errors in its response, a Status, about that template; the workers' one comes first, because what a
 * launcher inherits is not reported twice. */
void admission_add_rejection(const struct admission *admission, enum admission_pods pods,
                             const cJSON *template, const cJSON *status, struct strv *problems);
/* True for a Status about fields that no pod has: the API server then has not checked the rest. */
bool admission_is_about_unknown_fields(const cJSON *status);
/* The validating webhook's response, and the mutating one's to a job with problems: allowed without problems,
 * with the warnings of operator/api/admission/warnings.h; owned by the caller. */
char *admission_verdict(const struct admission *admission, const struct strv *problems,
                        const struct warning_facts *facts);
