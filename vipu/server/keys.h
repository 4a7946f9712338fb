/* Access keys: their form, salted hashes of them, and the comparison. A key is random, not a password that a
 * person made up, so one round of a keyed hash is enough, and cheap enough for every call. Keys are never
 * part of an error. The form is checked by pure code; hashes are OpenSSL's (keys_hash.c). */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/server/users.h"

#define KEYS_MIN_BYTES 8u
#define KEYS_MAX_BYTES 512u
#define KEYS_RULE "8 to 512 printable ASCII characters and no blanks"

bool keys_is_sound(const char *key);
/* "hmac-sha256:SALT:HASH", both in hexadecimal digits. */
bool keys_is_hash(const char *text);

/* What goes into the configuration in place of the key; with a fresh random salt. ERR_INVALID: not sound. */
MUST_USE bool keys_hash(const char *key, struct str *ret, struct err *err);
/* In a time that says nothing about where the two differ. A user without a key in memory matches nothing. */
bool keys_match(const struct user *user, const char *key);
/* Reads the files that users' keys stand in. `name` is the configuration's, for the messages. */
bool keys_load(struct users *users, const char *name, struct strv *problems);
