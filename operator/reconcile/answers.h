/* Answers of the API server to the requests of a plan: what they share, and those about records. */
#pragma once

#include "operator/reconcile/work.h"

/* answers_parts.c */
/* The watch has to show this write before the job is looked at again. */
void answer_expect_version(const struct request *request, const struct watch *watch, const char *key,
                           const struct kube_response *res);
void answer_expect_gone(const struct request *request, const struct watch *watch, const char *key);
/* The store is behind, and whatever is decided from it would be, too. */
void answer_expect_change(const struct request *request, const char *key);
char *answer_key(const char *ns, const char *name); /* in a store, yours */
void answer_fail(struct request *request, const struct kube_response *res);

/* answers_records.c */
void answer_record_created(struct request *request, struct kube_response *res);
void answer_record_patched(struct request *request, struct kube_response *res);
void answer_record_deleted(struct request *request, struct kube_response *res);
