/* The output of a container: whole lines, appended to a file and given to a reader, and the last of them,
 * which become its termination message. A reader gets a very long line in pieces; in the file it is whole,
 * unless the other stream has a line meanwhile. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/str.h"

struct container_log {
    int fd; /* -1: closed */
    char *path;
    struct str parts[2]; /* unfinished lines, of standard output and standard error */
    bool is_divided[2];  /* its last line was a piece, and goes on */
    bool is_file_end[2]; /* and nothing follows that piece in the file */
    struct str tail;
    bool is_broken; /* the file could not be written: reported once */
};

struct container_line {
    struct slice text;
    bool is_error;
    bool is_continued; /* it goes on with the stream's line before */
};

typedef void (*container_line_fn)(void *ctx, const struct container_line *line);

MUST_USE bool container_log_open(struct container_log *log, const char *path, struct err *err);
/* len 0: the stream has ended, and with it its last line. False: the file could not be written, for the first
 * time. */
bool container_log_add(struct container_log *log, bool is_error, const char *bytes, size_t len,
                       container_line_fn fn, void *ctx, struct err *err);
/* At most the last 80 lines and 2048 bytes (kubernetes/kubernetes, pkg/kubelet/container/runtime.go). Owned
 * by the caller. */
char *container_log_tail(const struct container_log *log);
void container_log_release(struct container_log *log);
