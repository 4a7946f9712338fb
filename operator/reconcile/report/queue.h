/* The plan of the queue: the list /queue of the leader. First the instances that wait for IPUs, the next to
 * be granted first; those of a job that are granted none are one item, with the first of them and their
 * number. Then the domains, and then what holds IPUs. */
#pragma once

#include "operator/api/page.h"

struct queue_counts;
struct reconciler;

/* How many instances wait now, without those that are granted IPUs, and what templates take. */
void queue_count(const struct reconciler *reconciler, const char *ns, struct queue_counts *ret);
/* The same for other replicas: "9000;team-a=8000;team-b=1000;team-a:40000", of all and of the namespaces with
 * most, and the KiB of templates of namespaces that have half of the limit. Owned by the caller. */
char *queue_sum_up(const struct reconciler *reconciler);

void queue_list(const void *reconciler, struct page_snapshot *ret);
/* Every page has "policy", "asOf", and one of the lists "queue", "domains" and "running", or parts of two;
 * the first page has "controllers" and, with shares, "shares". docs/queue.md describes the items. */
void queue_print(struct reconciler *reconciler, const struct page_snapshot *snapshot,
                 const struct page_request *request, cJSON *out);
