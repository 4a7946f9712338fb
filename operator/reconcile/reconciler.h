/* The shell around decide: four watches in, requests out. One reconcile of a key observes (stores and pool),
 * decides (pure) and acts (requests in flight together); the next one starts when all of them are answered
 * and the watches have shown what was written. Everything else waits in a queue without duplicates. */
#pragma once

#include "operator/reconcile/state/reconciler_options.h"

struct events;
struct kube;
struct loop;
struct reconciler;
struct str;

/* Everything in `options` is borrowed for the reconciler's life. Watches start at the next turn. */
struct reconciler *reconciler_new(struct loop *loop, struct kube *kube, struct events *events,
                                  const struct reconciler_options *options);
void reconciler_free(struct reconciler *reconciler);
void reconciler_abort(struct reconciler *reconciler); /* the lease is lost: nothing may leave any more */
/* Everybody who waits for IPUs, as {"queue": [...]}, who goes first first. Yours. */
struct cJSON *reconciler_queue(const struct reconciler *reconciler);
bool reconciler_is_synced(const struct reconciler *reconciler);
/* What keeps it from seeing what happens, in a sentence; NULL: nothing does. Yours. */
char *reconciler_trouble(const struct reconciler *reconciler);

const struct reconciler_counters *reconciler_counters(const struct reconciler *reconciler);
