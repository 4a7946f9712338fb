#include "vipu/server/config/access_keys.h"

#include <string.h>

#define PREFIX "hmac-sha256:"
#define SALT_DIGITS 32u
#define HASH_DIGITS 64u

bool access_key_is_well_formed(const char *key)
{
    size_t len = strlen(key);
    bool is_printable = true;

    for (size_t i = 0; i < len; i++)
        is_printable = is_printable && key[i] > ' ' && key[i] < 0x7f;
    return is_printable && len >= ACCESS_KEY_MIN_BYTES && len <= ACCESS_KEY_MAX_BYTES;
}

bool access_key_is_hash(const char *text)
{
    static const char digits[] = "0123456789abcdef";
    const char *salt = text + sizeof(PREFIX) - 1;

    return str_has_prefix(text, PREFIX) && strspn(salt, digits) == SALT_DIGITS && salt[SALT_DIGITS] == ':' &&
           strspn(salt + SALT_DIGITS + 1, digits) == HASH_DIGITS &&
           salt[SALT_DIGITS + 1 + HASH_DIGITS] == '\0';
}
