#include "launcher/remote/protocol/key.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "launcher/env/shape.h"

static bool read_key(const char *path, uint8_t ret[IDENTITY_KEY_BYTES], struct err *err)
{
    AUTO(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t bytes[IDENTITY_KEY_BYTES + 1];
    ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

    if (got < 0)
        return err_errno(err, errno, "cannot read the key %s, which is mounted by the operator", path);
    if (got != IDENTITY_KEY_BYTES)
        return err_set(err, ERR_INVALID, "invalid key %s: expected %u bytes", path, IDENTITY_KEY_BYTES);
    memcpy(ret, bytes, IDENTITY_KEY_BYTES);
    explicit_bzero(bytes, sizeof(bytes));
    return true;
}

static const char *choose(const struct envv *env, const char *name, const char *otherwise)
{
    const char *given = envv_get(env, name);

    return given && *given ? given : otherwise;
}

static bool read_worker(const struct envv *env, struct identity *ret, struct err *err)
{
    const char *worker = envv_get(env, SHAPE_ENV_WORKER_INDEX);

    if (!identity_read(env, ret, err))
        return false;
    if (worker && !parse_u32(worker, 0, INT32_MAX, &ret->worker))
        return err_set(err, ERR_INVALID, SHAPE_ENV_WORKER_INDEX "=\"%.40s\": expected a number", worker);
    return true;
}

static struct psk_context *client_context(const struct identity *identity, const uint8_t *key)
{
    char text[IDENTITY_TEXT_MAX];

    identity_print(identity, text);
    return psk_client_context(text, key);
}

bool key_open_agent(const struct envv *env, struct identity *ret, struct psk_context **ret_tls,
                    struct err *err)
{
    uint8_t key[IDENTITY_KEY_BYTES];

    if (!read_worker(env, ret, err) || !read_key(choose(env, KEY_ENV_FILE, KEY_FILE), key, err))
        return false;
    *ret_tls = psk_server_context(key);
    explicit_bzero(key, sizeof(key));
    return true;
}

bool key_open_local(const struct envv *env, struct psk_context **ret_tls, struct err *err)
{
    uint8_t key[IDENTITY_KEY_BYTES];
    struct identity identity;

    if (!read_worker(env, &identity, err) || !read_key(choose(env, KEY_ENV_FILE, KEY_FILE), key, err))
        return false;
    *ret_tls = client_context(&identity, key);
    explicit_bzero(key, sizeof(key));
    return true;
}

bool key_open_launcher(const struct envv *env, uint32_t worker, struct psk_context **ret_tls, struct err *err)
{
    AUTO(mem) char *path = mem_printf("%s/%u", choose(env, KEY_ENV_DIR, KEY_DIR), worker);
    uint8_t key[IDENTITY_KEY_BYTES];
    struct identity identity;

    if (!identity_read(env, &identity, err) || !read_key(path, key, err))
        return false;
    identity.worker = worker;
    *ret_tls = client_context(&identity, key);
    explicit_bzero(key, sizeof(key));
    return true;
}
