/* Responses of the API server to writes of partition records. */
#pragma once

#include "operator/reconcile/act/execution.h"

void on_record_created(struct request *request, struct kube_response *res);
void on_record_patched(struct request *request, struct kube_response *res);
void on_record_deleted(struct request *request, struct kube_response *res);
