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

enum rejection identity_check(const struct identity *own, const char *client, struct identity *ret)
{
    if (!identity_parse(client, ret))
        return REJECTION_NO_IDENTITY;
    if (strcmp(own->job, ret->job) != 0)
        return REJECTION_JOB;
    if (own->worker != ret->worker)
        return REJECTION_WORKER;
    return ret->attempt < own->attempt ? REJECTION_STALE_ATTEMPT : REJECTION_NONE;
}

const char *rejection_text(enum rejection rejection)
{
    static const char *const texts[REJECTION_COUNT] = {
        [REJECTION_NONE] = "no error",
        [REJECTION_NO_IDENTITY] = "no valid identity",
        [REJECTION_JOB] = "wrong job",
        [REJECTION_WORKER] = "wrong worker",
        [REJECTION_STALE_ATTEMPT] = "stale attempt",
        [REJECTION_KEY] = "wrong key",
        [REJECTION_TIMEOUT] = "handshake timed out",
        [REJECTION_REQUEST] = "malformed request",
        [REJECTION_EVICTED] = "too many pending connections",
        [REJECTION_BUSY] = "too many running commands",
    };

    return texts[rejection];
}
