/* Authorizes requests for a path: the API server must know the bearer's token (TokenReview) and allow the
 * account to get the path, or to list objects (SubjectAccessReview). Pure: builds both reviews, reads their
 * results, and caches verdicts for a while by a hash of the token, never the token itself. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/doc/json.h"
#include "operator/kube/client/resource.h"

#define AUTHZ_CACHE_SIZE 64u
#define AUTHZ_ALLOWED_TTL_MS 60000 /* a revoked permission takes effect after this time */
#define AUTHZ_DENIED_TTL_MS 10000

enum authz_verdict {
    AUTHZ_UNKNOWN,
    AUTHZ_ALLOWED,
    AUTHZ_UNAUTHENTICATED, /* the API server does not know the token */
    AUTHZ_FORBIDDEN,       /* it does, but the account may not get this path */
};

/* What follows "Bearer " in the header; NULL: there is no token in it. Borrowed. */
const char *authz_bearer_token(const char *authorization);

/* Owned by the caller. */
cJSON *authz_token_review(const char *token);
cJSON *authz_subject_review(const cJSON *user, const char *path);
/* May this user list them? ns NULL: in all namespaces, or of no namespace. */
cJSON *authz_list_review(const cJSON *user, const struct kube_resource *resource, const char *ns);
/* status.user of an answered TokenReview, borrowed; NULL: not authenticated. */
const cJSON *authz_user(const cJSON *review);
bool authz_is_allowed(const cJSON *review); /* an answered SubjectAccessReview */

struct authz_digest {
    uint8_t bytes[32];
};
struct authz_digest authz_digest(const char *token, const char *path);

/* All zero: empty. The entry that expires first is replaced. */
struct authz_cache {
    struct authz_cache_entry {
        struct authz_digest digest;
        enum authz_verdict verdict;
        int64_t until_ms;
    } kept[AUTHZ_CACHE_SIZE];
};

enum authz_verdict authz_cache_get(const struct authz_cache *memory, const struct authz_digest *digest,
                                   int64_t now_ms);
void authz_cache_put(struct authz_cache *memory, const struct authz_digest *digest,
                     enum authz_verdict verdict, int64_t now_ms);
