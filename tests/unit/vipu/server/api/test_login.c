#include "vipu/server/api/login.h"

#include "base/io/log.h"
#include "lib/check.h"

static uint64_t failures[LOGIN_FAILURES];
enum { HERE = 1, THERE }; /* connections */

static struct user items[] = {
    {.id = (char *)(uintptr_t) "alice", .key.plain = (char *)(uintptr_t) "alice-key"},
    {.id = (char *)(uintptr_t) "bob", .key.plain = (char *)(uintptr_t) "bob-key-x"}};
static const struct users users = {.items = items, .count = COUNT_OF(items)};

/* The user's id, or "" if it is rejected. */
static const char *log_in(struct login *login, uint64_t connection, const char *id, const char *key,
                          int64_t now_ms, struct err *err)
{
    static const struct controller controller;
    struct user holder;
    const struct login_attempt attempt = {connection, id, key, "", now_ms};
    const struct user *user = login_check(login, &attempt, &users, &controller, &holder, err);

    return user ? user->id : "";
}

TEST(a_user_with_a_wrong_key_waits_on_this_connection)
{
    struct login login = {.failures = failures};
    struct err err;
    static const struct {
        uint64_t connection;
        const char *id, *key;
        int64_t now_ms;
        const char *want, *message;
    } rows[] = {
        {HERE, "alice", "alice-key", 0, "alice", ""},
        {HERE, "alice", "guessed-1", 1000, "", "does not exist, or its access key is wrong"},
        {HERE, "alice", "guessed-2", 1001, "", "was wrong just now"},
        {HERE, "alice", "alice-key", 1999, "", "was wrong just now"},
        {HERE, "bob", "bob-key-x", 1001, "bob", ""},
        {THERE, "alice", "alice-key", 1001, "alice", ""},
        {HERE, "alice", "alice-key", 2000, "alice", ""},
        {HERE, "nobody", "guessed-1", 3000, "", "does not exist, or its access key is wrong"},
        {HERE, "nobody", "guessed-1", 3001, "", "was wrong just now"},
        {HERE, "", "guessed-1", 3001, "", "user ID required, none sent"},
        {HERE, "alice", "", 3001, "", "access key required, none sent"},
    };

    log_setup(LOG_ERROR, false);
    CHECK_ROWS (row, rows) {
        err = (struct err){0};
        CHECK_STR_EQ(log_in(&login, row->connection, row->id, row->key, row->now_ms, &err), row->want);
        if (*row->message)
            CHECK_HAS(err.msg, row->message);
    }
    CHECK_INT_EQ(failures[LOGIN_WRONG], 2);
    CHECK_INT_EQ(failures[LOGIN_PAUSED], 3);
    CHECK_INT_EQ(failures[LOGIN_MISSING], 2);
}
