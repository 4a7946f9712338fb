#include "servers.h"

#include "base/core/mem.h"
#include "base/io/log.h"

struct servers {
    struct servers_options options;
    struct strv webhook_names, metrics_names, progress_names, live_page_names;
    struct client_config client_config; /* of its own, because each client watches its files */
    struct kube *kube;
    struct webhooks *webhooks;
    struct metrics_server *metrics_server;
    struct progress_server *progress_server;
    struct live_page *live_page;
};

static bool keeps_limits(const struct options *o)
{
    for (size_t i = 0; i < o->controllers.count; i++) {
        const struct vipu_controller_config *c = &o->controllers.items[i];

        if ((c->has_policy ? (int)c->policy : o->queue_policy) != FORECAST_STRICT)
            return true;
    }
    return false;
}

static bool start_webhooks(struct servers *servers, struct err *err)
{
    const struct options *o = servers->options.options;

    if (!o->admission)
        return true;
    strv_split(o->admission_hosts, ',', &servers->webhook_names);
    servers->webhooks =
        webhooks_new(servers->kube,
                     &(struct webhooks_options){.port = (uint16_t)o->admission_port,
                                                .ns = servers->options.ns,
                                                .name = o->admission,
                                                .given = o->admission_certificate,
                                                .names = &servers->webhook_names,
                                                .largest_partition = servers->options.largest_partition,
                                                .priority_classes = servers->options.priority_classes,
                                                .queue_limits = servers->options.queue_limits,
                                                .keeps_limits = keeps_limits(o),
                                                .count_waiting = servers->options.count_waiting,
                                                .ctx = servers->options.ctx},
                     err);
    if (servers->webhooks)
        log_info("serving admission webhooks",
                 KVF("admission_port", "%u", (unsigned)webhooks_port(servers->webhooks)));
    return servers->webhooks != NULL;
}

static bool start_metrics_server(struct servers *servers, struct err *err)
{
    const struct options *o = servers->options.options;

    if (options_metrics(o) != METRICS_SECURE)
        return true;
    strv_split(o->metrics_hosts, ',', &servers->metrics_names);
    servers->metrics_server =
        metrics_server_new(servers->kube,
                           &(struct metrics_server_options){.port = (uint16_t)o->metrics_port,
                                                            .names = &servers->metrics_names,
                                                            .certificate_in = o->metrics_certificate,
                                                            .metrics = servers->options.metrics,
                                                            .pages = servers->options.pages,
                                                            .ctx = servers->options.ctx},
                           err);
    if (servers->metrics_server)
        log_info("serving /metrics",
                 KVF("metrics_port", "%u", (unsigned)metrics_server_port(servers->metrics_server)));
    return servers->metrics_server != NULL;
}

static bool start_progress_server(struct servers *servers, struct err *err)
{
    const struct options *o = servers->options.options;

    if (!o->progress)
        return true;
    strv_split(o->progress_hosts, ',', &servers->progress_names);
    servers->progress_server =
        progress_server_new(servers->kube,
                            &(struct progress_server_options){.port = (uint16_t)o->progress_port,
                                                              .ns = servers->options.ns,
                                                              .secret = o->progress,
                                                              .names = &servers->progress_names,
                                                              .report = servers->options.report,
                                                              .leader = servers->options.leader,
                                                              .ctx = servers->options.ctx},
                            err);
    return servers->progress_server != NULL;
}

static bool start_live_page(struct servers *servers, struct err *err)
{
    const struct options *o = servers->options.options;

    if (!o->live_page)
        return true;
    strv_split(o->live_page, ',', &servers->live_page_names);
    servers->live_page =
        live_page_new(servers->kube,
                      &(struct live_page_options){.port = (uint16_t)o->live_page_port,
                                                  .hosts = &servers->live_page_names,
                                                  .certificate_in = o->live_page_certificate},
                      err);
    return servers->live_page != NULL;
}

static bool start(struct servers *servers, struct loop *loop, struct err *err)
{
    if (!client_config_load(servers->options.client_config, &servers->client_config, err))
        return false;
    servers->kube =
        kube_new(loop, &servers->client_config, &(struct kube_options){.program = "ipu-operator"}, err);
    return servers->kube && start_webhooks(servers, err) && start_metrics_server(servers, err) &&
           start_progress_server(servers, err) && start_live_page(servers, err);
}

struct servers *servers_new(struct loop *loop, const struct servers_options *options, struct err *err)
{
    struct servers *servers = NEW(struct servers);

    servers->options = *options;
    if (!start(servers, loop, err)) {
        servers_free(servers);
        return NULL;
    }
    return servers;
}

void servers_stop_metrics(struct servers *servers)
{
    if (!servers)
        return;
    metrics_server_free(servers->metrics_server);
    servers->metrics_server = NULL;
}

void servers_free(struct servers *servers)
{
    if (!servers)
        return;
    servers_stop_metrics(servers); /* it reports on the webhooks, so it is freed first */
    live_page_free(servers->live_page);
    webhooks_free(servers->webhooks);
    progress_server_free(servers->progress_server); /* pods are built with its certificate until then */
    kube_free(servers->kube);
    client_config_release(&servers->client_config);
    strv_release(&servers->webhook_names);
    strv_release(&servers->metrics_names);
    strv_release(&servers->progress_names);
    strv_release(&servers->live_page_names);
    mem_free(servers);
}

size_t servers_counters(const struct servers *servers, const struct kube_counter **ret)
{
    return servers ? kube_counters(servers->kube, ret) : 0;
}

struct webhooks *servers_webhooks(const struct servers *servers)
{
    return servers ? servers->webhooks : NULL;
}

const struct metrics_server *servers_metrics(const struct servers *servers)
{
    return servers ? servers->metrics_server : NULL;
}

const struct live_page *servers_live_page(const struct servers *servers)
{
    return servers ? servers->live_page : NULL;
}

const struct pod_progress *servers_progress(const struct servers *servers)
{
    return servers ? progress_server_access(servers->progress_server) : NULL;
}
