/* The instances that wait for IPUs, the next to be granted first: the list /queue of the leader. Those of a
 * job that are granted none are one item, with the first of them and their number. */
#pragma once

#include "operator/api/page.h"

struct reconciler;

void queue_list(const void *reconciler, struct page_snapshot *ret);
/* {"queue": [{"job", "instance", "instances", "ipus", "priority", "created", "state", "reason", "message",
 * "controller", "position"}]}, as the queue was last evaluated. */
void queue_print(struct reconciler *reconciler, const struct page_snapshot *snapshot,
                 const struct page_request *request, cJSON *out);
