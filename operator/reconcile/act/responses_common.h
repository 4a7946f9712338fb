/* What all responses share: which writes the watches have to show, failures, and rejections by the API
 * server. */
#pragma once

#include "operator/reconcile/act/execution.h"

/* The watch has to show this write before the job is reconciled again. */
void response_expect_version(const struct request *request, const struct watch *watch, const char *key,
                             const struct kube_response *res);
void response_expect_gone(const struct request *request, const struct watch *watch, const char *key);
/* The store is behind, and so would be every decision made from it. */
void response_expect_change(const struct request *request, const char *key);
char *object_key(const char *ns, const char *name); /* in a store; caller frees */
void response_fail(struct request *request, const struct kube_response *res);
/* True when the same request would get the same answer at once. A failure of the API server, or of a
 * webhook, becomes such an answer when it lasts. */
bool response_is_rejection(const struct request *request, const struct kube_response *res);
/* Pods, or objects they need, cannot be created now: reports that, and retries later. */
void response_reject(const struct request *request, const char *reason, char *text_take);
/* The same if the response is a rejection; otherwise the request has failed. */
void response_reject_or_fail(struct request *request, const struct kube_response *res, char *text_take);
const char *
response_reason(const struct kube_response *res); /* why pods, or objects they need, were rejected */

void response_note_success(const struct request *request, const struct kube_response *res);
