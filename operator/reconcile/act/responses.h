/* Answers of the API server to the requests of a plan: what they share, and those about records. */
#pragma once

#include "operator/reconcile/act/execution.h"

/* answers_parts.c */
/* The watch has to show this write before the job is looked at again. */
void answer_expect_version(const struct request *request, const struct watch *watch, const char *key,
                           const struct kube_response *res);
void answer_expect_gone(const struct request *request, const struct watch *watch, const char *key);
/* The store is behind, and whatever is decided from it would be, too. */
void answer_expect_change(const struct request *request, const char *key);
char *answer_key(const char *ns, const char *name); /* in a store, yours */
void answer_fail(struct request *request, const struct kube_response *res);
/* Is it an answer that asking again at once does not change? What the API server, or a webhook of somebody,
 * fails at becomes one when it lasts. */
bool answer_refuses(const struct request *request, const struct kube_response *res);
/* Pods, or what they need, cannot be created now: that is told, and tried again later. */
void answer_refuse(const struct request *request, const char *reason, char *text_take);
/* Likewise, if that is what the answer says; otherwise it has failed. */
void answer_refuse_or_fail(struct request *request, const struct kube_response *res, char *text_take);
const char *answer_reason(const struct kube_response *res); /* why pods, or what they need, are refused */

/* answers_records.c */
void answer_record_created(struct request *request, struct kube_response *res);
void answer_record_patched(struct request *request, struct kube_response *res);
void answer_record_deleted(struct request *request, struct kube_response *res);
