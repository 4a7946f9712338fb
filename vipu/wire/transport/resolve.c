#include "vipu/wire/transport/resolve.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "base/core/mem.h"

struct resolve {
    uv_getaddrinfo_t request;
    resolve_fn fn; /* NULL once cancelled */
    void *ctx;
    char *host;
};

static enum err_kind kind_of(int status)
{
    return status == UV_EAI_NONAME || status == UV_EAI_NODATA ? ERR_NOT_FOUND : ERR_IO;
}

static size_t take(const struct addrinfo *info, struct resolve_address addresses[RESOLVE_MAX])
{
    size_t count = 0;

    for (; info && count < RESOLVE_MAX; info = info->ai_next) {
        if (info->ai_addrlen > sizeof(addresses[0].address))
            continue;
        memcpy(&addresses[count].address, info->ai_addr, info->ai_addrlen);
        addresses[count++].len = info->ai_addrlen;
    }
    return count;
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *info)
{
    struct resolve *resolve = CONTAINER_OF(request, struct resolve, request);
    struct resolve_address addresses[RESOLVE_MAX] = {0};
    size_t count = status == 0 ? take(info, addresses) : 0;
    struct err err = {0};

    uv_freeaddrinfo(info);
    if (count == 0)
        err_set(&err, kind_of(status), "cannot resolve host %s: %s", resolve->host,
                status ? uv_strerror(status) : "no address");
    if (resolve->fn)
        resolve->fn(resolve->ctx, addresses, count, &err);
    mem_free(resolve->host);
    mem_free(resolve);
}

struct resolve *resolve_start(struct loop *loop, const char *host, uint32_t port, resolve_fn fn, void *ctx)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct resolve *resolve = NEW(struct resolve);
    char service[8];
    int status;

    resolve->fn = fn;
    resolve->ctx = ctx;
    resolve->host = mem_strdup(host);
    (void)snprintf(service, sizeof(service), "%u", port & 0xffff);
    status = uv_getaddrinfo(loop_uv(loop), &resolve->request, on_resolved, host, service, &hints);
    if (status != 0) {
        mem_free(resolve->host);
        mem_free(resolve);
        return NULL;
    }
    return resolve;
}

void resolve_cancel(struct resolve *resolve)
{
    if (!resolve)
        return;
    resolve->fn = NULL;
    uv_cancel((uv_req_t *)&resolve->request); /* one that has started ends on its own */
}
