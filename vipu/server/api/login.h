/* Secure mode: which user a call is made by. A user of the configuration has its key, or a client certificate
 * with its id; the user "partition:ID" has the key that the partition's maker gave it, and may use nothing
 * else.
 *
 * Failed log-ins are counted, logged with the user that was tried, and slowed: an address may try a user once
 * per second, however many connections it has. Other users of the address, the same user elsewhere, and
 * connections on which that user has logged in do not wait. */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "vipu/server/calls/metrics.h"
#include "vipu/server/controller/controller.h"
#include "vipu/server/controller/users.h"

#define LOGIN_PAUSE_MS 1000
#define LOGIN_SLOTS 1024u

/* All zero, but for the first two. */
struct login {
    uint64_t *failures; /* of the metrics */
    uint64_t seed;      /* random, so that nobody can tell who shares a slot */
    struct login_pause {
        uint64_t who; /* an address and a user */
        int64_t until_ms;
    } pauses[LOGIN_SLOTS];               /* by a part of `who`: a later one replaces an earlier one */
    uint64_t known[LOGIN_SLOTS];         /* connections and users that have logged in, likewise */
    int64_t next_log_ms[LOGIN_FAILURES]; /* so that strangers do not fill the log */
    uint64_t unlogged[LOGIN_FAILURES];
};

struct login_attempt {
    const char *peer; /* address */
    uint64_t connection;
    const char *user_id, *access_key; /* "": not sent */
    const char *certificate;          /* the common name of the client's; "": none */
    int64_t now_ms;
};

/* After a change of the users: a key that was wrong may be right now. */
void login_end_pauses(struct login *login);

/* The user, or NULL: err is the message for the caller. *holder becomes a partition's own user, which borrows
 * from the attempt and the controller. */
const struct user *login_check(struct login *login, const struct login_attempt *attempt,
                               const struct users *users, const struct controller *c, struct user *holder,
                               struct err *err);
