#include "vipu/server/api/admin.h"

#include <assert.h>
#include <string.h>

#include "base/core/mem.h"

#define MAX_ROUTES 8

struct admin {
    struct http_server_route routes[MAX_ROUTES + 1]; /* the last row is all zero */
    size_t count;
    struct http_server *http_server; /* NULL until it listens */
};

struct admin *admin_new(void)
{
    return NEW(struct admin);
}

void admin_add(struct admin *admin, const struct http_server_route *route)
{
    assert(!admin->http_server && admin->count < MAX_ROUTES);
    admin->routes[admin->count++] = *route;
}

/* *ret_host is NULL for all addresses. */
static bool split(const char *address, char **ret_host, uint16_t *ret_port, struct err *err)
{
    const char *colon = strrchr(address, ':');
    uint32_t port;
    size_t len;

    if (!colon || !parse_u32(colon + 1, 0, UINT16_MAX, &port))
        return err_set(err, ERR_INVALID,
                       "invalid admin address \"%.80s\": expected [HOST]:PORT with a port up to 65535",
                       address);
    len = (size_t)(colon - address);
    if (len >= 2 && address[0] == '[' && colon[-1] == ']') {
        address++;
        len -= 2;
    }
    *ret_host = len ? mem_strndup(address, len) : NULL;
    *ret_port = (uint16_t)port;
    if (*ret_host && strcmp(*ret_host, "localhost") == 0)
        mem_set_str(ret_host, "127.0.0.1");
    return true;
}

bool admin_listen(struct admin *admin, struct loop *loop, const char *address, struct err *err)
{
    AUTO(mem) char *host = NULL;
    struct http_server_options options = {.routes = admin->routes};

    if (!split(address, &host, &options.port, err))
        return false;
    options.address = host;
    admin->http_server = http_server_new(loop, &options, err);
    return admin->http_server || err_wrap(err, "admin-listen");
}

uint16_t admin_port(const struct admin *admin)
{
    return http_server_port(admin->http_server);
}

void admin_free(struct admin *admin)
{
    if (!admin)
        return;
    http_server_free(admin->http_server);
    mem_free(admin);
}
