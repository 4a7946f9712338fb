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

/* What is to stand in place of `now_there` (PEM; what is no certificate, or has ended, goes), or NULL when it
 * may stay as it is; yours. `own`: PEM of CAs, whose ended ones are left out; with none that lives nothing
 * changes. others: what was seen last, and is seen now. */
char *ca_bundle_next(const char *now_there, const char *own, int64_t now_s, struct ca_bundle_others *others);

/* What tells `webhooks`, the list of one configuration or NULL, to trust `own`: a JSON patch, empty when they
 * do; yours. others: one for each, none for those that are not there. */
cJSON *ca_bundle_patch(const cJSON *webhooks, const char *own, int64_t now_s,
                       struct ca_bundle_others others[CA_BUNDLE_WEBHOOKS_MAX]);
/* How long until the first of these others go, no less than a second; INT64_MAX: there are none. */
int64_t ca_bundle_next_expiry_ms(const struct ca_bundle_others others[CA_BUNDLE_WEBHOOKS_MAX], int64_t now_s);
/* Joins PEM texts, whether or not the first ends with a line break; NULL is none. Yours. */
char *ca_bundle_join(const char *first, const char *second);
