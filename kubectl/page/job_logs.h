/* The logs of all ranks of one job for one viewer, followed over restarts, as messages of the feed. */
#pragma once

#include "kubectl/shell/session.h"

struct job_logs;

struct job_logs_options {
    const char *ns, *job; /* copied */
    /* Lines of one rank, ready to be sent; takes the text. */
    void (*on_lines)(void *ctx, char *message, size_t lines);
    void (*on_left_out)(void *ctx, uint64_t lines);       /* more lines came than can be sent */
    void (*on_failure)(void *ctx, const struct err *err); /* the logs, or some of them, cannot be read */
    void *ctx;
};

struct job_logs *job_logs_new(struct session *session, const struct job_logs_options *options);
void job_logs_free(struct job_logs *logs); /* accepts NULL; not from inside its callbacks */
