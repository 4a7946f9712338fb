#include "vipu/server/api/login.h"

#include "base/io/log.h"
#include "lib/check.h"

static uint64_t failures[LOGIN_FAILURES];
enum { FIRST = 1, SECOND, THIRD }; /* connections */

static struct user items[] = {
    {.id = (char *)(uintptr_t) "alice", .key.plain = (char *)(uintptr_t) "alice-key"},
    {.id = (char *)(uintptr_t) "bob", .key.plain = (char *)(uintptr_t) "bob-key-x"}};
static const struct users users = {.items = items, .count = COUNT_OF(items)};

/* The user's id, or "" if it is rejected. */
static const char *log_in(struct login *login, const char *peer, uint64_t connection, const char *id,
                          const char *key, int64_t now_ms, struct err *err)
{
    static const struct controller controller;
    struct user holder;
    const struct login_attempt attempt = {peer, connection, id, key, "", now_ms};
    const struct user *user = login_check(login, &attempt, &users, &controller, &holder, err);

    return user ? user->id : "";
}

TEST(a_user_with_a_wrong_key_waits_at_this_address)
{
    struct login login = {.failures = failures, .seed = 17};
    struct err err;
    static const struct {
        const char *peer;
        uint64_t connection;
        const char *id, *key;
        int64_t now_ms;
        const char *want, *message;
    } rows[] = {
        {"10.0.0.1", FIRST, "alice", "alice-key", 0, "alice", ""},
        {"10.0.0.1", SECOND, "alice", "guessed-1", 1000, "", "does not exist, or its access key is wrong"},
        {"10.0.0.1", SECOND, "alice", "guessed-2", 1001, "", "was wrong just now"},
        {"10.0.0.1", THIRD, "alice", "alice-key", 1999, "", "was wrong just now"},
        /* This connection has proved who it is; a wrong key there ends that. */
        {"10.0.0.1", FIRST, "alice", "alice-key", 1001, "alice", ""},
        {"10.0.0.1", FIRST, "alice", "guessed-3", 1002, "", "does not exist, or its access key is wrong"},
        {"10.0.0.1", FIRST, "alice", "alice-key", 1003, "", "was wrong just now"},
        {"10.0.0.1", SECOND, "bob", "bob-key-x", 1001, "bob", ""},
        {"10.0.0.2", THIRD, "alice", "alice-key", 1001, "alice", ""},
        {"10.0.0.1", SECOND, "alice", "alice-key", 2002, "alice", ""},
        {"10.0.0.1", SECOND, "nobody", "guessed-1", 3000, "", "does not exist, or its access key is wrong"},
        {"10.0.0.1", THIRD, "nobody", "guessed-1", 3001, "", "was wrong just now"},
        {"10.0.0.1", SECOND, "", "guessed-1", 3001, "", "user ID required, none sent"},
        {"10.0.0.1", SECOND, "alice", "", 3001, "", "access key required, none sent"},
    };

    log_setup(LOG_ERROR, false);
    CHECK_ROWS (row, rows) {
        err = (struct err){0};
        CHECK_STR_EQ(log_in(&login, row->peer, row->connection, row->id, row->key, row->now_ms, &err),
                     row->want);
        if (*row->message)
            CHECK_HAS(err.msg, row->message);
    }
    CHECK_INT_EQ(failures[LOGIN_WRONG], 3);
    CHECK_INT_EQ(failures[LOGIN_PAUSED], 4);
    CHECK_INT_EQ(failures[LOGIN_MISSING], 2);
}
