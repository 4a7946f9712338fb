/* The caBundle of a webhook configuration. During a rollout, replicas may serve different certificates. Keep
 * CAs written by others for a while: overwriting them would make the API server reject those replicas. Pure.
 */
#pragma once

#include <stdint.h>

#include "base/core/str.h"
#include "base/doc/json.h"

/* CAs of others are removed when unchanged for this time: a rollout is over by then. A replica that still
 * needs its own adds it again immediately. */
#define CA_BUNDLE_KEEP_OTHERS_S 600
/* Of one configuration; those behind them are not cared for. */
#define CA_BUNDLE_WEBHOOKS_MAX 8

/* Others' CAs in one bundle. All zero: none. */
struct ca_bundle_others {
    uint64_t hash;   /* of them */
    int64_t since_s; /* unchanged since; 0: there are none */
};

/* The bundle that has to replace `now_there` (PEM; anything that is not a certificate, or has expired, is
 * removed), or NULL if it can stay; owned by the caller. `own`: PEM of CAs, without expired ones; if none is
 * valid nothing changes. others: what was seen last, and is seen now. */
char *ca_bundle_next(const char *now_there, const char *own, int64_t now_s, struct ca_bundle_others *others);

/* The JSON patch that makes `webhooks`, the list of one configuration or NULL, trust `own`; empty if they
 * do; owned by the caller. others: one for each, none for missing ones. */
cJSON *ca_bundle_patch(const cJSON *webhooks, const char *own, int64_t now_s,
                       struct ca_bundle_others others[CA_BUNDLE_WEBHOOKS_MAX]);
/* How long until the first of these others go, no less than a second; INT64_MAX: there are none. */
int64_t ca_bundle_next_expiry_ms(const struct ca_bundle_others others[CA_BUNDLE_WEBHOOKS_MAX], int64_t now_s);
/* Joins PEM texts, whether or not the first ends with a newline; NULL counts as empty. Owned by the caller.
 */
char *ca_bundle_join(const char *first, const char *second);
