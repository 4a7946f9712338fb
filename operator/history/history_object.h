/* The history in the cluster: a ConfigMap in the operator's namespace. It is read once, and written at most
 * once a minute while there is something new. If another writer was there in between, it is read again, and
 * what is new is added to that. If it is lost, or is not what an operator writes, all is learned again. Only
 * the leader has this. */
#pragma once

struct history;
struct history_object;
struct kube;

/* All of it borrowed. */
struct history_object *history_object_new(struct kube *kube, struct history *history, const char *ns,
                                          const char *name);
void history_object_free(struct history_object *object); /* before the history; accepts NULL */
