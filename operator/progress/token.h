/* Whose token is it? A service account token of a pod, as the kubelet puts it into a projected volume: its
 * signature is checked with the API server's public keys, then audience and times. No request to the
 * API server is needed for that. Pure: the keys and the time are arguments. */
#pragma once

#include <stdint.h>

#include "base/doc/json.h"

#define TOKEN_MAX_BYTES ((size_t)8 * 1024)
#define TOKEN_SKEW_S 60 /* of the clocks of this node and of the API server */
#define TOKEN_KEYS_MAX 32u

/* The API server's keys, from /openid/v1/jwks (RFC 7517). */
struct token_keys;

/* RSA keys and those of P-256, P-384 and P-521; others are left out. ERR_INVALID if there are none. */
MUST_USE struct token_keys *token_keys_new(const cJSON *jwks, struct err *err);
void token_keys_free(struct token_keys *keys); /* accepts NULL */

/* Who the pod is, as the API server has signed it. */
struct token_pod {
    char *ns, *name, *uid;
};

void token_pod_release(struct token_pod *pod);
DEFINE_AUTO(token_pod);

/* ERR_NOT_FOUND: none of the keys has signed it, and newer ones may have. ERR_DENIED: it is not valid.
 * What an API server's keys have signed is its own, so that the issuer's name says no more. */
MUST_USE bool token_verify(const struct token_keys *keys, const char *token, const char *audience,
                           int64_t now_s, struct token_pod *ret, struct err *err);
