#include "launcher/env/workers.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "base/core/mem.h"

#define NAME_MAX_BYTES 253u
#define HOSTS_MARK "# The workers of this job.\n"
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

static bool is_name(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= NAME_MAX_BYTES && !strchr("._-", *name) && strspn(name, NAME_LETTERS) == len;
}

static bool read_v6(const char *text, uint32_t port, struct worker *ret)
{
    struct sockaddr_in6 *address = (struct sockaddr_in6 *)(void *)&ret->address;

    address->sin6_family = AF_INET6;
    address->sin6_port = htons((uint16_t)port);
    ret->address_len = sizeof(*address);
    return inet_pton(AF_INET6, text, &address->sin6_addr) == 1;
}

static bool read_v4(const char *text, uint32_t port, struct worker *ret)
{
    struct sockaddr_in *address = (struct sockaddr_in *)(void *)&ret->address;

    address->sin_family = AF_INET;
    address->sin_port = htons((uint16_t)port);
    ret->address_len = sizeof(*address);
    return inet_pton(AF_INET, text, &address->sin_addr) == 1;
}

/* text is address:port. */
static bool read_address(const char *text, struct worker *ret)
{
    const char *colon = strrchr(text, ':');
    bool is_v6 = *text == '[';
    uint32_t port;

    if (!colon || !parse_u32(colon + 1, 1, 65535, &port) ||
        (is_v6 && (colon == text + 1 || colon[-1] != ']')))
        return false;
    AUTO(mem) char *host = mem_strndup(text + is_v6, (size_t)(colon - text) - 2u * is_v6);
    return is_v6 ? read_v6(host, port, ret) : read_v4(host, port, ret);
}

static void push(struct workers *workers, const struct worker *worker)
{
    if (workers->count == workers->cap) {
        workers->cap = workers->cap ? 2 * workers->cap : 16;
        workers->items = mem_grow(workers->items, workers->cap, sizeof(*workers->items));
    }
    workers->items[workers->count++] = *worker;
}

static bool read_entry(const char *entry, struct workers *workers, struct err *err)
{
    const char *equals = strchr(entry, '=');
    struct worker worker = {.index = (uint32_t)workers->count};
    AUTO(mem) char *name = mem_strndup(entry, equals ? (size_t)(equals - entry) : 0);

    if (!equals || !is_name(name) || !read_address(equals + 1, &worker))
        return err_set(err, ERR_INVALID, WORKERS_ENV_HOSTS ": expected name=address:port, got \"%.120s\"",
                       entry);
    if (workers->count >= WORKERS_MAX)
        return err_set(err, ERR_INVALID, WORKERS_ENV_HOSTS ": more than %u workers", WORKERS_MAX);
    worker.name = TAKE(name);
    push(workers, &worker);
    return true;
}

bool workers_read(const char *text, struct workers *ret, struct err *err)
{
    struct workers found = {0};

    for (const char *at = text;; at++) {
        size_t len = strcspn(at, ",");
        AUTO(mem) char *entry = mem_strndup(at, len);

        if (!read_entry(entry, &found, err)) {
            workers_release(&found);
            return false;
        }
        at += len;
        if (!*at)
            break;
    }
    *ret = found;
    return true;
}

void workers_release(struct workers *workers)
{
    for (size_t i = 0; i < workers->count; i++)
        mem_free(workers->items[i].name);
    mem_free(workers->items);
    *workers = (struct workers){0};
}

const struct worker *workers_find(const struct workers *workers, const char *name)
{
    for (size_t i = 0; i < workers->count; i++)
        if (strcmp(workers->items[i].name, name) == 0)
            return &workers->items[i];
    return NULL;
}

void workers_print_address(const struct worker *worker, struct str *out)
{
    char text[INET6_ADDRSTRLEN] = "";
    bool is_v6 = worker->address.ss_family == AF_INET6;
    const void *address =
        is_v6 ? (const void *)&((const struct sockaddr_in6 *)(const void *)&worker->address)->sin6_addr
              : (const void *)&((const struct sockaddr_in *)(const void *)&worker->address)->sin_addr;

    (void)inet_ntop(worker->address.ss_family, address, text, sizeof text);
    (void)str_adds(out, text);
}

void workers_print_hosts(const struct workers *workers, const char *before, struct str *out)
{
    const char *own = strstr(before, HOSTS_MARK);

    (void)str_add(out, before, own ? (size_t)(own - before) : strlen(before));
    if (out->len && out->ptr[out->len - 1] != '\n')
        (void)str_addc(out, '\n');
    (void)str_adds(out, HOSTS_MARK);
    for (size_t i = 0; i < workers->count; i++) {
        workers_print_address(&workers->items[i], out);
        (void)str_addf(out, " %s\n", workers->items[i].name);
    }
}

void workers_print_hostfile(const struct workers *workers, uint32_t slots, struct str *out)
{
    for (size_t i = 0; i < workers->count; i++)
        (void)str_addf(out, "%s slots=%" PRIu32 "\n", workers->items[i].name, slots);
}
