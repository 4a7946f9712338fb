/* The shell around job_decide: watches in, requests out. Reconciling a key observes (stores and pool),
 * decides (pure) and acts (requests in flight together); the next reconcile of the key starts when all
 * requests are answered and the watches have shown what was written. Keys that are due wait in a queue
 * without duplicates. */
#pragma once

#include "operator/reconcile/state/reconciler_options.h"

struct cordon;
struct events;
struct history;
struct kube;
struct loop;
struct reconciler;
struct str;

/* Everything in `options` is borrowed for the reconciler's life. Watches start at the next turn. */
struct reconciler *reconciler_new(struct loop *loop, struct kube *kube, struct events *events,
                                  const struct reconciler_options *options);
void reconciler_free(struct reconciler *reconciler);
void reconciler_abort(struct reconciler *reconciler); /* the lease is lost: no request may be sent any more */
/* As pool_largest_partition. */
uint32_t reconciler_largest_partition(const struct reconciler *reconciler);
/* As pool_set_cordon. */
void reconciler_set_cordon(struct reconciler *reconciler, size_t controller, const struct cordon *cordon);
/* Every cordon that is in force has been set since the start: see awaits_cordons. */
void reconciler_cordons_known(struct reconciler *reconciler);
bool reconciler_is_synced(const struct reconciler *reconciler);
/* All jobs have been reconciled once since the start, so that what waits is counted, and the first of a long
 * queue are found. */
bool reconciler_knows_queue(const struct reconciler *reconciler);
/* Why the reconciler does not see changes, in a sentence; NULL: it does. Caller frees. */
char *reconciler_trouble(const struct reconciler *reconciler);

struct history *reconciler_history(const struct reconciler *reconciler);
const struct reconciler_counters *reconciler_counters(const struct reconciler *reconciler);
