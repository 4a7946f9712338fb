/* Every reason that the operator gives, in one table: in status.reason, in conditions, in status.failures and
 * in events. docs/jobs.md shows the same table, and a test compares the two. Pure.
 *
 * A reason is one word for programs; the message beside it, for users, is composed where the facts are known.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum reason_kind {
    REASON_PROGRESS, /* a normal step */
    REASON_WAITING,  /* continues automatically when what it waits for has happened */
    REASON_WARNING,  /* needs attention; reported by a warning event */
    REASON_FAILURE,  /* why a pod, an instance or the job failed */
    REASON_INFO,     /* only in events and conditions */
};

struct reason {
    const char *name; /* CamelCase */
    enum reason_kind kind;
    const char *meaning, *advice; /* a sentence each, without period; advice may be NULL */
};

struct condition_row {
    const char *type, *meaning;
};

extern const struct reason reasons[];
extern const size_t reason_count;
extern const struct condition_row condition_rows[];
extern const size_t condition_row_count;

const struct reason *reason_find(const char *name); /* NULL: no such reason */
const char *reason_kind_name(enum reason_kind kind);
bool reason_is_warning(const char *name); /* REASON_WARNING or REASON_FAILURE */
