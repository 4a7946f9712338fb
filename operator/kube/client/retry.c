#include "operator/kube/client/retry.h"

#include "base/core/backoff.h"
#include "base/core/str.h"
#include "operator/kube/client/client.h"

#define PATIENT_TRIES 10u
#define BROKEN_TRIES 3u
#define HTTP_UNAUTHORIZED 401
#define HTTP_TOO_MANY 429

static const struct backoff PATIENCE = {.first_ms = 100, .max_ms = 5000};

bool retry_is_safe(const char *method, const char *content_type, bool retry_post)
{
    if (str_eq(method, "POST"))
        return retry_post;
    if (str_eq(method, "PATCH"))
        return !str_eq(content_type, KUBE_JSON_PATCH);
    return true;
}

/* A proxy may answer 503 for a server that does its work late. */
static bool leaves_doubt(const struct err *err)
{
    return err->code != HTTP_TOO_MANY &&
           (err->kind == ERR_IO || err->kind == ERR_TIMEOUT || err->kind == ERR_BUSY);
}

/* How many tries this kind of failure is worth. */
static unsigned tries_for(const struct retry_state *state, const struct err *err)
{
    if (err->code == HTTP_TOO_MANY) /* the server did nothing */
        return PATIENT_TRIES;
    if (!state->is_safe)
        return 1;
    if (err->kind == ERR_BUSY)
        return PATIENT_TRIES;
    return err->kind == ERR_IO || err->kind == ERR_TIMEOUT ? BROKEN_TRIES : 1;
}

int64_t retry_delay_ms(struct retry_state *state, const struct err *err, int64_t retry_after_ms,
                       int64_t left_ms, uint32_t random, bool *renew)
{
    int64_t delay_ms;

    *renew = false;
    state->is_in_doubt = state->is_in_doubt || leaves_doubt(err);
    if (err->code == HTTP_UNAUTHORIZED && !state->is_renewed) {
        state->is_renewed = *renew = true;
        return 0;
    }
    if (state->tries >= tries_for(state, err))
        return -1;
    delay_ms = backoff_delay_ms(&PATIENCE, state->tries, random);
    if (retry_after_ms > delay_ms)
        delay_ms = retry_after_ms;
    return delay_ms < left_ms ? delay_ms : -1;
}
