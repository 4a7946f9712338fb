#include "vipu/server/api/login.h"

#include <string.h>

#include "base/core/fnv.h"
#include "base/io/log.h"
#include "vipu/server/config/access_keys.h"

#define LOG_PAUSE_MS 10000

static const struct user *find_user(const struct login_attempt *attempt, const struct users *users,
                                    const struct controller *c, struct user *holder)
{
    const struct controller_partition *entry;
    struct err err;

    if (!str_has_prefix(attempt->user_id, VIPU_PARTITION_USER))
        return users_find(users, attempt->user_id);
    entry = controller_find(c, attempt->user_id + strlen(VIPU_PARTITION_USER), &err);
    if (!entry || !entry->key_hash || !access_key_is_hash(entry->key_hash))
        return NULL;
    *holder = (struct user){.partition = entry->partition.id, .key.hash = entry->key_hash};
    return holder;
}

static uint64_t mix(uint64_t hash, const char *text)
{
    return fnv64_add_bytes(hash, text, strlen(text) + 1);
}

static size_t slot_of(uint64_t who)
{
    return (who >> 32) % LOGIN_SLOTS;
}

static void log_failure(struct login *login, enum login_failure cause, const struct login_attempt *attempt,
                        const char *text)
{
    login->failures[cause]++;
    if (attempt->now_ms < login->next_log_ms[cause]) {
        login->unlogged[cause]++;
        return;
    }
    login->next_log_ms[cause] = attempt->now_ms + LOG_PAUSE_MS;
    log_warn("log-in failed, calls rejected",
             KV("user", *attempt->user_id ? attempt->user_id : attempt->certificate), KV("cause", text),
             KVF("similar_before", "%llu", (unsigned long long)login->unlogged[cause]));
    login->unlogged[cause] = 0;
}

static const struct user *reject(struct login *login, enum login_failure cause,
                                 const struct login_attempt *attempt, struct err *err)
{
    log_failure(login, cause, attempt, err->msg);
    return NULL;
}

static void explain_missing(const struct login_attempt *attempt, struct err *err)
{
    const char *what = *attempt->user_id      ? "access key"
                       : *attempt->access_key ? "user ID"
                                              : "user ID and access key";

    err_set(err, ERR_DENIED, "secure mode: %s required, none sent", what);
}

/* A client whose certificate was verified need not send a user ID, and no other one. */
static const struct user *check_certificate(struct login *login, const struct login_attempt *attempt,
                                            const struct users *users, struct err *err)
{
    const struct user *user = users_find(users, attempt->certificate);
    bool is_other = *attempt->user_id && !str_eq(attempt->user_id, attempt->certificate);

    if (user && user->key.is_certificate && !is_other)
        return user;
    err_set(err, ERR_DENIED, "secure mode: the client certificate of \"%s\" is not accepted for user \"%s\"",
            attempt->certificate, is_other ? attempt->user_id : attempt->certificate);
    return reject(login, LOGIN_WRONG, attempt, err);
}

void login_end_pauses(struct login *login)
{
    memset(login->pauses, 0, sizeof(login->pauses));
}

const struct user *login_check(struct login *login, const struct login_attempt *attempt,
                               const struct users *users, const struct controller *c, struct user *holder,
                               struct err *err)
{
    const uint64_t who = mix(mix(login->seed, attempt->peer), attempt->user_id),
                   here = mix(login->seed ^ attempt->connection, attempt->user_id);
    struct login_pause *pause = &login->pauses[slot_of(who)];
    uint64_t *known = &login->known[slot_of(here)];
    const struct user *user;

    if (!*attempt->access_key && *attempt->certificate)
        return check_certificate(login, attempt, users, err);
    if (!*attempt->user_id || !*attempt->access_key) {
        explain_missing(attempt, err);
        return reject(login, LOGIN_MISSING, attempt, err);
    }
    if (pause->who == who && attempt->now_ms < pause->until_ms && *known != here) {
        err_set(err, ERR_DENIED,
                "secure mode: user \"%s\" does not exist, or its access key was wrong just now; try again in "
                "1 second",
                attempt->user_id);
        return reject(login, LOGIN_PAUSED, attempt, err);
    }
    user = find_user(attempt, users, c, holder);
    if (user && access_key_matches(user, attempt->access_key)) {
        *known = here;
        return user;
    }
    if (*known == here)
        *known = 0;
    *pause = (struct login_pause){who, attempt->now_ms + LOGIN_PAUSE_MS};
    err_set(err, ERR_DENIED, "secure mode: user \"%s\" does not exist, or its access key is wrong",
            attempt->user_id);
    return reject(login, LOGIN_WRONG, attempt, err);
}
