#include "vipu/wire/grpc/credentials.h"

#include <openssl/crypto.h>
#include <string.h>

#include "base/core/mem.h"

/* The characters that gRPC allows in a text header. */
static bool is_printable(struct slice value)
{
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] < ' ' || value.ptr[i] > '~')
            return false;
    return true;
}

static bool check(const char *what, struct slice value, size_t max, struct err *err)
{
    if (value.len > max)
        return err_set(err, ERR_INVALID, "the %s is too long, limit %zu bytes", what, max);
    if (!is_printable(value))
        return err_set(err, ERR_INVALID, "the %s contains a character that is not printable ASCII", what);
    /* HTTP strips whitespace around a value, so the controller would see a different one. */
    if (value.len && (value.ptr[0] == ' ' || value.ptr[value.len - 1] == ' '))
        return err_set(err, ERR_INVALID, "the %s begins or ends with a blank", what);
    return true;
}

bool credentials_set(struct credentials *c, const char *user_id, const char *access_key, struct err *err)
{
    struct slice id = slice_of(user_id), key = slice_of(access_key);

    if (!check("user ID", id, CREDENTIALS_USER_ID_MAX, err) ||
        !check("access key", key, CREDENTIALS_ACCESS_KEY_MAX, err))
        return false;
    credentials_release(c);
    c->user_id = id.len ? mem_strndup(id.ptr, id.len) : NULL;
    c->access_key = key.len ? mem_strndup(key.ptr, key.len) : NULL;
    return true;
}

void credentials_release(struct credentials *c)
{
    if (c->access_key)
        OPENSSL_cleanse(c->access_key, strlen(c->access_key));
    mem_free(c->access_key);
    mem_free(c->user_id);
    *c = (struct credentials){0};
}

/* With two values, a proxy and this server could use different ones. */
static bool keep(char **slot, struct slice value, size_t max)
{
    if (*slot || value.len > max || !is_printable(value))
        return false;
    *slot = mem_strndup(value.ptr, value.len);
    return true;
}

bool credentials_header(struct credentials *c, struct slice name, struct slice value)
{
    if (slice_eq(name, CREDENTIALS_USER_ID))
        return keep(&c->user_id, value, CREDENTIALS_USER_ID_MAX);
    if (slice_eq(name, CREDENTIALS_ACCESS_KEY))
        return keep(&c->access_key, value, CREDENTIALS_ACCESS_KEY_MAX);
    return true;
}
