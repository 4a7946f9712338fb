/* What one caller of the operator's live page may see: the API server's answers to whether the caller may
 * list objects of a kind, in all namespaces or in one, each asked again in time. Pods are asked about only
 * where jobs may be listed. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/map.h"
#include "operator/serve/live/feed.h"

#define GRANTS_ALLOWED_MS ((int64_t)60 * 1000)     /* a revoked permission takes effect after this time */
#define GRANTS_DENIED_MS ((int64_t)10 * 60 * 1000) /* a new one; at once after all pages were closed */
/* Without an answer, what was allowed counts as long. */
#define GRANTS_STALE_MS (3 * GRANTS_ALLOWED_MS)
#define GRANTS_NAMESPACES_MAX 1000u

struct grant {
    enum { GRANT_UNKNOWN, GRANT_DENIED, GRANT_ALLOWED } verdict;
    int64_t at_ms; /* of the answer */
};

/* All zero: nothing is known. */
struct grants {
    struct grant everywhere[FEED_KINDS];
    struct map namespaces; /* name -> struct grant[FEED_KINDS] */
};

void grants_release(struct grants *grants);

/* There is something in this namespace; what is in others is not asked about. */
void grants_add_namespace(struct grants *grants, const char *ns);
void grants_drop_namespace(struct grants *grants, const char *ns);

struct grants_question {
    enum feed_kind kind;
    const char *ns; /* NULL: all, or a kind without namespaces; borrowed from the grants */
};

/* The next question, which has waited longest, so that each has its turn however slow the answers are; false:
 * there is none before *ret_due_ms, and all have been answered. */
bool grants_next(const struct grants *grants, int64_t now_ms, struct grants_question *ret,
                 int64_t *ret_due_ms);

enum grants_change { GRANTS_SAME, GRANTS_GIVEN, GRANTS_TAKEN };
/* ns may have been dropped since it was asked about. */
enum grants_change grants_answer(struct grants *grants, enum feed_kind kind, const char *ns, bool is_given,
                                 int64_t now_ms);

bool grants_allow(const struct grants *grants, enum feed_kind kind, const char *ns);
bool grants_allow_any(const struct grants *grants, enum feed_kind kind); /* somewhere */
/* The API server has not answered for so long that nothing counts any more. */
bool grants_are_stale(const struct grants *grants, int64_t now_ms);
