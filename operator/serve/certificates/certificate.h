/* The certificate that the webhooks are served with: created, checked and renewed here, as PEM text.
 *
 * Each serving certificate has a CA of its own, whose key is forgotten as soon as it has signed: there is no
 * key with which anybody could make another certificate that the API server trusts. The CAs before it stay in
 * `ca` until they end, because replicas change their certificates one after the other. Keys are EC P-256. No
 * time is read here; only the keys come from OpenSSL's random numbers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"

#define CERTIFICATE_DAYS 90
#define CERTIFICATE_LASTING_DAYS 3650

struct certificate {
    char *ca;   /* trusted CAs, the newest first */
    char *cert; /* what the server shows */
    char *key;
};

/* For these DNS names and addresses. `old_ca` is what was trusted before, or NULL. */
void certificate_make(const struct strv *names, int64_t now_s, const char *old_ca, struct certificate *ret);
/* The same where nothing renews it. */
void certificate_make_lasting(const struct strv *names, int64_t now_s, struct certificate *ret);
/* NULL if it can be used now and, unless another program renews it, is not due for renewal; else why not. */
const char *certificate_problem(const struct certificate *certificate, const struct strv *names,
                                bool is_given, int64_t now_s);
/* Expiration time in Unix seconds; 0 when it cannot be read. */
int64_t certificate_end_s(const struct certificate *certificate);
/* When it is to be renewed: after two thirds of its life. 0 when it cannot be read. */
int64_t certificate_renewal_time_s(const struct certificate *certificate);
void certificate_release(struct certificate *certificate);
DEFINE_AUTO(certificate);
