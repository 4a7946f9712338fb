/* Events (events.k8s.io/v1) in the namespace of the object they regard. Never blocks and never fails: what
 * cannot be sent is dropped and counted. A repeated event becomes a series on the same Event object, written
 * at a limited rate; each object has a bucket of 25 events that refills by one in five minutes. */
#pragma once

#include <stdint.h>

struct events;
struct kube;

struct event_subject {
    const char *api_version;
    const char *kind;
    const char *ns;
    const char *name;
    const char *uid;
};

/* Borrowed for the call. */
struct event {
    struct event_subject regarding;
    const struct event_subject *related; /* or NULL */
    const char *type;                    /* "Normal" or "Warning" */
    const char *reason;                  /* CamelCase, at most 128 bytes */
    const char *action;                  /* CamelCase: what we did or tried */
    const char *note;                    /* cut to 1 KiB at a character border */
};

struct events_options {
    const char *controller; /* reportingController: "graphcore.ai/ipu-operator" */
    const char *instance;   /* reportingInstance: the pod's name. Strings are copied. */
};

struct events *events_new(struct kube *kube, const struct events_options *options);
void events_free(struct events *events); /* drops what is in flight */
void events_send(struct events *events, const struct event *event);
uint64_t events_dropped(const struct events *events);
