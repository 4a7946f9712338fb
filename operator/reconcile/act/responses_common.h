/* What the responses to all kinds of requests share: what the watches have to show next, failures, and what
 * the API server rejects. */
#pragma once

#include "operator/reconcile/act/execution.h"

/* The watch has to show this write before the job is looked at again. */
void response_expect_version(const struct request *request, const struct watch *watch, const char *key,
                             const struct kube_response *res);
void response_expect_gone(const struct request *request, const struct watch *watch, const char *key);
/* The store is behind, and whatever is decided from it would be, too. */
void response_expect_change(const struct request *request, const char *key);
char *object_key(const char *ns, const char *name); /* in a store, yours */
void response_fail(struct request *request, const struct kube_response *res);
/* Is it an answer that asking again at once does not change? What the API server, or a webhook of somebody,
 * fails at becomes one when it lasts. */
bool response_is_rejection(const struct request *request, const struct kube_response *res);
/* Pods, or what they need, cannot be created now: reports that, and retries later. */
void response_reject(const struct request *request, const char *reason, char *text_take);
/* The same if the response is a rejection; otherwise the request has failed. */
void response_reject_or_fail(struct request *request, const struct kube_response *res, char *text_take);
const char *response_reason(const struct kube_response *res); /* why pods, or what they need, were rejected */

void response_note_success(const struct request *request, const struct kube_response *res);
