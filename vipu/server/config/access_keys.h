/* Access keys: their format, salted hashes, and comparison. A key is random, not a password that someone
 * chose, so one round of a keyed hash is enough, and cheap enough for every call. Keys are never part of an
 * error. The format is checked by pure code; hashes are OpenSSL's (access_keys_hash.c). */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/server/controller/users.h"

#define ACCESS_KEY_MIN_BYTES 8u
#define ACCESS_KEY_MAX_BYTES 512u
#define ACCESS_KEY_RULE "8 to 512 printable ASCII characters without blanks"

bool access_key_is_well_formed(const char *key);
/* "hmac-sha256:SALT:HASH", both in hexadecimal digits. */
bool access_key_is_hash(const char *text);

/* What goes into the configuration in place of the key; with a fresh random salt. ERR_INVALID: not
 * well-formed. */
MUST_USE bool access_key_hash(const char *key, struct str *ret, struct err *err);
/* Constant-time: the duration does not reveal where the two differ. A user without a key in memory matches
 * nothing. */
bool access_key_matches(const struct user *user, const char *key);
/* Reads the files that contain users' keys. `name` is the configuration's name, for messages. */
bool access_keys_load(struct users *users, const char *name, struct strv *problems);
