/* The log of one pod, followed over broken streams and connections until its container has ended. */
#pragma once

#include "kubectl/core/log_text.h"
#include "kubectl/shell/session.h"

struct log_stream;
struct stream;

/* What the streams of one command have in common; borrowed. */
struct log_streams {
    struct session *session;
    const char *ns;        /* of the pods */
    const char *container; /* NULL: of each pod its first */
    int64_t since_s;       /* seconds back; 0: all */
    struct log_merge *merge;
    size_t piece_max;            /* of a line */
    void (*on_lines)(void *ctx); /* there are new ones in merge */
    void (*on_state)(void *ctx); /* a stream has ended for good */
    void *ctx;
};

struct log_stream {
    const struct log_streams *common;
    char *pod, *uid, *container, *rank;
    struct log_source source;
    struct log_reader reader;
    struct stream *stream; /* open, or NULL */
    struct loop_timer retry;
    unsigned failures; /* in a row */
    bool is_complete;  /* the container has ended: the log does not grow */
    bool is_gone;      /* the pod is: another one may have its name by now */
    bool has_begun, has_ended;
    struct err err; /* why it has ended before the log's end */
    struct log_stream *next;
};

#define LOG_STREAMS_MAX 10000u /* that a job may have had while it was followed */

struct log_stream *log_stream_new(const struct log_streams *common, const cJSON *pod);
void log_stream_free(struct log_stream *stream);
void log_stream_begin(struct log_stream *stream);
/* A newer state of its pod; NULL: it is gone. */
void log_stream_note(struct log_stream *stream, const cJSON *pod);
/* The one of this pod that is read. */
const char *log_stream_container(const struct log_streams *common, const cJSON *pod);
/* The container has started: there is a log. */
bool log_stream_has_log(const struct log_streams *common, const cJSON *pod);
