#include "operator/kube/client/transport.h"

#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/kube/auth/credential_files.h"

#define REFRESH_MS ((int64_t)60000)
#define REAP_MS ((int64_t)1000)
#define WATCH_CONNECTIONS 8u

/* Pools that were replaced and still have requests in flight. */
struct retired {
    struct http_client *http;
    struct retired *next;
};

struct transport {
    struct loop *loop;
    struct client_config *client_config;
    char *user_agent;
    unsigned watch_connections;
    size_t turn_bytes;
    struct http_client *pools[KUBE_CLASS_COUNT];
    struct retired *retired;
    struct loop_timer reap;
    int64_t refreshed_ms;
    struct counters counters;
};

static struct http_client *pool_new(const struct transport *transport, enum kube_class class, struct err *err)
{
    const struct client_config *config = transport->client_config;
    struct http_client_options options = {
        .user_agent = transport->user_agent,
        .ca_pem = config->ca_pem,
        .cert_pem = config->cert_pem,
        .key_pem = config->key_pem,
        .server_name = config->server_name,
        .proxy_url = config->proxy_url,
        .env_proxy = config->env_proxy,
        .insecure = config->insecure,
        .turn_bytes = transport->turn_bytes,
        /* With HTTP/2 one is enough. */
        .max_connections = class == KUBE_WATCH ? transport->watch_connections : 2,
    };

    return http_client_new(transport->loop, &options, err);
}

static void pools_release(struct http_client **pools)
{
    for (size_t i = 0; i < KUBE_CLASS_COUNT; i++)
        http_client_free(TAKE(pools[i]));
}

static bool pools_make(const struct transport *transport, struct http_client **ret, struct err *err)
{
    struct http_client *pools[KUBE_CLASS_COUNT] = {0};

    for (size_t i = 0; i < KUBE_CLASS_COUNT; i++) {
        pools[i] = pool_new(transport, (enum kube_class)i, err);
        if (pools[i] == NULL) {
            pools_release(pools);
            return err_wrap(err, "%s", transport->client_config->origin);
        }
    }
    for (size_t i = 0; i < KUBE_CLASS_COUNT; i++)
        ret[i] = pools[i];
    return true;
}

struct transport *transport_new(struct loop *loop, struct client_config *config,
                                const struct kube_options *options, struct err *err)
{
    struct transport *transport = NEW(struct transport);

    transport->loop = loop;
    transport->client_config = config;
    transport->user_agent = mem_printf("%s/%s", options->program, IPU_OPERATOR_VERSION);
    transport->watch_connections =
        options->watch_connections > 0 ? options->watch_connections : WATCH_CONNECTIONS;
    transport->turn_bytes = options->turn_bytes;
    transport->refreshed_ms = loop_now_ms(loop);
    if (config->insecure)
        log_warn("TLS verification of the API server is disabled (insecure-skip-tls-verify)",
                 KV("from", config->origin));
    if (!pools_make(transport, transport->pools, err)) {
        transport_free(transport);
        return NULL;
    }
    return transport;
}

void transport_free(struct transport *transport)
{
    if (transport == NULL)
        return;
    loop_timer_stop(&transport->reap);
    pools_release(transport->pools);
    while (transport->retired != NULL) {
        struct retired *retired = transport->retired;

        transport->retired = retired->next;
        http_client_free(retired->http);
        mem_free(retired);
    }
    counters_release(&transport->counters);
    mem_free(transport->user_agent);
    mem_free(transport);
}

/* From a timer, because a pool must not be freed inside its own callback. */
static void reap(struct loop_timer *timer)
{
    struct transport *transport = CONTAINER_OF(timer, struct transport, reap);

    for (struct retired **slot = &transport->retired; *slot != NULL;) {
        struct retired *retired = *slot;

        if (http_in_flight(retired->http) > 0) {
            slot = &retired->next;
            continue;
        }
        *slot = retired->next;
        http_client_free(retired->http);
        mem_free(retired);
    }
    if (transport->retired != NULL)
        loop_timer_start(transport->loop, &transport->reap, REAP_MS, reap);
}

static void retire(struct transport *transport, struct http_client *http)
{
    struct retired *retired = NEW(struct retired);

    *retired = (struct retired){.http = http, .next = transport->retired};
    transport->retired = retired;
    loop_timer_start(transport->loop, &transport->reap, 0, reap);
}

static void replace_pools(struct transport *transport)
{
    struct http_client *fresh[KUBE_CLASS_COUNT] = {0};
    struct err err = {0};

    if (!pools_make(transport, fresh, &err)) {
        log_warn("cannot use the new credentials, keeping the old connections", KV("cause", err.msg));
        return;
    }
    for (size_t i = 0; i < KUBE_CLASS_COUNT; i++) {
        retire(transport, transport->pools[i]);
        transport->pools[i] = fresh[i];
    }
    log_info("credentials reloaded", KV("from", transport->client_config->origin));
}

static void refresh(struct transport *transport, bool force)
{
    unsigned generation = transport->client_config->generation;
    struct err err = {0};

    transport->refreshed_ms = loop_now_ms(transport->loop);
    if (!credential_files_refresh(transport->client_config, force, &err))
        log_warn("cannot reload credentials, keeping the old ones", KV("cause", err.msg));
    if (transport->client_config->generation != generation)
        replace_pools(transport);
}

void transport_renew(struct transport *transport)
{
    refresh(transport, true);
}

struct http_call *transport_send(struct transport *transport, enum kube_class class, const char *path,
                                 struct http_request *request)
{
    AUTO(mem) char *url = NULL;

    if (loop_now_ms(transport->loop) - transport->refreshed_ms >= REFRESH_MS)
        refresh(transport, false);
    url = mem_printf("%s%s", transport->client_config->server, path);
    request->url = url;
    request->bearer_token = transport->client_config->token;
    return http_send(transport->pools[class], request);
}

void transport_abort(struct transport *transport)
{
    http_abort_connections(transport->pools[KUBE_WORK]);
    for (struct retired *retired = transport->retired; retired != NULL; retired = retired->next)
        http_abort_connections(retired->http);
}

struct counters *transport_counters(struct transport *transport)
{
    return &transport->counters;
}
