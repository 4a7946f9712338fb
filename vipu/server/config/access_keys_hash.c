#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "vipu/server/config/access_keys.h"

#define PREFIX "hmac-sha256:"
#define SALT_BYTES ((size_t)16)
#define HASH_BYTES ((size_t)32)

static bool hash(const unsigned char salt[SALT_BYTES], const char *key, unsigned char ret[HASH_BYTES])
{
    unsigned len = HASH_BYTES;

    return HMAC(EVP_sha256(), salt, SALT_BYTES, (const unsigned char *)key, strlen(key), ret, &len);
}

bool access_key_hash(const char *key, struct str *ret, struct err *err)
{
    unsigned char salt[SALT_BYTES], digest[HASH_BYTES];

    if (!access_key_is_well_formed(key))
        return err_set(err, ERR_INVALID, "access key must be " ACCESS_KEY_RULE);
    if (RAND_bytes(salt, SALT_BYTES) != 1 || !hash(salt, key, digest))
        return err_set(err, ERR_INTERNAL,
                       "cannot hash the access key: OpenSSL provides no random bytes or no SHA-256");
    str_adds(ret, PREFIX);
    str_add_hex(ret, salt, SALT_BYTES);
    str_addc(ret, ':');
    str_add_hex(ret, digest, HASH_BYTES);
    return true;
}

static unsigned char digit(char c)
{
    return (unsigned char)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* For a line that access_key_is_hash has accepted. */
static void get_hex(const char *text, unsigned char *ret, size_t len)
{
    for (size_t i = 0; i < len; i++)
        ret[i] = (unsigned char)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
}

static bool matches_hash(const char *line, const char *key)
{
    const char *salt_text = line + sizeof(PREFIX) - 1;
    unsigned char salt[SALT_BYTES], want[HASH_BYTES], got[HASH_BYTES];

    get_hex(salt_text, salt, SALT_BYTES);
    get_hex(salt_text + 2 * SALT_BYTES + 1, want, HASH_BYTES);
    return hash(salt, key, got) && CRYPTO_memcmp(want, got, HASH_BYTES) == 0;
}

/* Digests of equal length are compared, so that not even the length of the key can be measured. */
static bool matches_plain(const char *plain, const char *key)
{
    static const unsigned char salt[SALT_BYTES];
    unsigned char want[HASH_BYTES], got[HASH_BYTES];

    return hash(salt, plain, want) && hash(salt, key, got) && CRYPTO_memcmp(want, got, HASH_BYTES) == 0;
}

bool access_key_matches(const struct user *user, const char *key)
{
    if (user->key.hash)
        return matches_hash(user->key.hash, key);
    return user->key.plain && matches_plain(user->key.plain, key);
}

static bool load(struct user *user, struct err *err)
{
    AUTO(str) struct str text = {0};

    if (!file_read(user->key.file, ACCESS_KEY_MAX_BYTES + 2, &text, err))
        return false;
    while (text.len > 0 && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == '\r'))
        text.len--;
    user->key.plain = mem_strndup(text.ptr ? text.ptr : "", text.len);
    if (text.ptr)
        explicit_bzero(text.ptr, text.cap);
    if (access_key_is_well_formed(user->key.plain))
        return true;
    return err_set(err, ERR_INVALID, "%s: access key must be " ACCESS_KEY_RULE, user->key.file);
}

bool access_keys_load(struct users *users, const char *name, struct strv *problems)
{
    size_t before = problems->count;
    struct err err;

    for (size_t i = 0; i < users->count; i++)
        if (users->items[i].key.file && !users->items[i].key.plain && !load(&users->items[i], &err))
            strv_pushf(problems, "%s: line %u: %s", name, users->items[i].line, err.msg);
    return problems->count == before;
}
