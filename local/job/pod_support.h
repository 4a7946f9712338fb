/* What a pod asks for and what an engine has of it. One table decides, and is printed at the
 * start of a run, in the manual page and in docs/ipu-run.md. Pure. */
#pragma once

#include "local/job/objects.h"
#include "local/node/engine.h"

enum pod_support_kind { SUPPORT_HONOURED, SUPPORT_APPROXIMATED, SUPPORT_IGNORED, SUPPORT_REJECTED };

struct pod_support {
    enum pod_support_kind how;
    const char *why; /* what happens instead, or what to do; NULL for what is honoured */
};

struct pod_support_row {
    const char *path; /* in the pod's spec, with [] for the items of a list; all below it counts as well */
    struct pod_support of[ENGINES];
};

extern const struct pod_support_row pod_support_rows[]; /* ends with path NULL */
const char *pod_support_name(enum pod_support_kind how);
/* A line of the table that is printed at the start; owned by the caller. */
char *pod_support_line(enum pod_support_kind how, const char *what, const char *why);

/* Checks the pods of a job. Problems: fields that are rejected, or unknown; with is_strict also those that
 * are not honoured. `notes` gets one line for each row that is approximated or ignored, once. */
void pod_support_check(const struct object *job, enum engine engine, bool is_strict, struct strv *notes,
                       struct strv *problems);
