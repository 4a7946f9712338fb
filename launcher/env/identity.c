#include "launcher/env/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"

#define JOB_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"

static bool read_job(const char *text, size_t len, struct identity *ret)
{
    if (!text || len == 0 || len > IDENTITY_JOB_MAX || strspn(text, JOB_LETTERS) < len)
        return false;
    memcpy(ret->job, text, len);
    ret->job[len] = '\0';
    return true;
}

static bool read_number(const char *text, uint32_t *ret)
{
    return text && parse_u32(text, 0, INT32_MAX, ret);
}

bool identity_read(const struct envv *env, struct identity *ret, struct err *err)
{
    const char *job = envv_get(env, IDENTITY_ENV_JOB), *attempt = envv_get(env, IDENTITY_ENV_ATTEMPT);
    struct identity found = {0};
    bool has_job = read_job(job, job ? strlen(job) : 0, &found);
    bool has_attempt = read_number(attempt, &found.attempt);

    if (!has_job || !has_attempt)
        return err_set(err, ERR_INVALID, "job identity missing: %s%s%s must be set by the operator",
                       has_job ? "" : IDENTITY_ENV_JOB, has_job || has_attempt ? "" : " and ",
                       has_attempt ? "" : IDENTITY_ENV_ATTEMPT);
    *ret = found;
    return true;
}

bool identity_parse(const char *text, struct identity *ret)
{
    const char *first = strchr(text, '/'), *second = first ? strchr(first + 1, '/') : NULL;
    struct identity found = {0};

    if (!second || !read_job(text, (size_t)(first - text), &found))
        return false;
    AUTO(mem) char *attempt = mem_strndup(first + 1, (size_t)(second - first) - 1);
    if (!read_number(attempt, &found.attempt) || !read_number(second + 1, &found.worker))
        return false;
    *ret = found;
    return true;
}

void identity_print(const struct identity *identity, char ret[IDENTITY_TEXT_MAX])
{
    (void)snprintf(ret, IDENTITY_TEXT_MAX, "%s/%" PRIu32 "/%" PRIu32, identity->job, identity->attempt,
                   identity->worker);
}

enum refusal identity_check(const struct identity *own, const char *client, struct identity *ret)
{
    if (!identity_parse(client, ret))
        return REFUSAL_NO_IDENTITY;
    if (strcmp(own->job, ret->job) != 0)
        return REFUSAL_JOB;
    if (own->worker != ret->worker)
        return REFUSAL_WORKER;
    return ret->attempt < own->attempt ? REFUSAL_STALE_ATTEMPT : REFUSAL_NONE;
}

const char *refusal_text(enum refusal refusal)
{
    static const char *const texts[REFUSAL_COUNT] = {
        [REFUSAL_NONE] = "no error",
        [REFUSAL_NO_IDENTITY] = "no valid identity",
        [REFUSAL_JOB] = "wrong job",
        [REFUSAL_WORKER] = "wrong worker",
        [REFUSAL_STALE_ATTEMPT] = "stale attempt",
        [REFUSAL_KEY] = "wrong key",
        [REFUSAL_TIMEOUT] = "handshake timed out",
        [REFUSAL_REQUEST] = "malformed request",
        [REFUSAL_EVICTED] = "too many pending connections",
        [REFUSAL_BUSY] = "too many running commands",
    };

    return texts[refusal];
}
