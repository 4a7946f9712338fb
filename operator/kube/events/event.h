/* One occurrence of an event, and its reporter (events.k8s.io/v1). */
#pragma once

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
    const char *action;                  /* CamelCase: what was done or attempted */
    const char *note;                    /* truncated to 1 KiB, never inside a character */
};

struct events_options {
    const char *controller; /* reportingController: "graphcore.ai/ipu-operator" */
    const char *instance;   /* reportingInstance: the pod's name. Strings are copied. */
};
