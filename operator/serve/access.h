/* Who may read a page: the bearer of a token that the API server knows (TokenReview), whom its rules let get
 * that path (SubjectAccessReview). Pure: makes the two questions, reads their answers, and remembers verdicts
 * for a while, by a hash of the token and never the token itself. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/doc/json.h"

#define ACCESS_KEPT 64u
#define ACCESS_ALLOWED_MS 60000 /* who loses the right may read on for so long */
#define ACCESS_REFUSED_MS 10000

enum access_verdict {
    ACCESS_UNKNOWN,
    ACCESS_ALLOWED,
    ACCESS_NOBODY,    /* the API server does not know the token */
    ACCESS_FORBIDDEN, /* it does, but its rules do not let the bearer get this path */
};

/* What follows "Bearer " in the header; NULL: there is no token in it. Borrowed. */
const char *access_token(const char *authorization);

/* Yours. */
cJSON *access_token_review(const char *token);
cJSON *access_subject_review(const cJSON *user, const char *path);
/* status.user of an answered TokenReview, borrowed; NULL: it is nobody. */
const cJSON *access_user(const cJSON *review);
bool access_is_allowed(const cJSON *review); /* an answered SubjectAccessReview */

struct access_digest {
    uint8_t bytes[32];
};
struct access_digest access_digest(const char *token, const char *path);

/* All zero: nothing is remembered. The one that ends first makes room. */
struct access_memory {
    struct access_kept {
        struct access_digest digest;
        enum access_verdict verdict;
        int64_t until_ms;
    } kept[ACCESS_KEPT];
};

enum access_verdict access_recall(const struct access_memory *memory, const struct access_digest *digest,
                                  int64_t now_ms);
void access_remember(struct access_memory *memory, const struct access_digest *digest,
                     enum access_verdict verdict, int64_t now_ms);
