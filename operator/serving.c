#include "serving.h"

#include "base/core/mem.h"
#include "base/io/log.h"

struct serving {
    struct serving_options options;
    struct strv webhook_names, metrics_names;
    struct identity identity; /* of its own, because each client watches its files */
    struct kube *kube;
    struct webhooks *webhooks;
    struct scrape *scrape;
};

static bool start_webhooks(struct serving *serving, struct err *err)
{
    const struct options *o = serving->options.options;

    if (!o->admission)
        return true;
    strv_split(o->admission_hosts, ',', &serving->webhook_names);
    serving->webhooks = webhooks_new(serving->kube,
                                     &(struct webhooks_options){.port = (uint16_t)o->admission_port,
                                                                .ns = serving->options.ns,
                                                                .name = o->admission,
                                                                .given = o->admission_certificate,
                                                                .names = &serving->webhook_names},
                                     err);
    if (serving->webhooks)
        log_info("serving admission webhooks",
                 KVF("admission_port", "%u", (unsigned)webhooks_port(serving->webhooks)));
    return serving->webhooks != NULL;
}

static bool start_scrape(struct serving *serving, struct err *err)
{
    const struct options *o = serving->options.options;

    if (options_metrics(o) != METRICS_SECURE)
        return true;
    strv_split(o->metrics_hosts, ',', &serving->metrics_names);
    serving->scrape = scrape_new(serving->kube,
                                 &(struct scrape_options){.port = (uint16_t)o->metrics_port,
                                                          .names = &serving->metrics_names,
                                                          .certificate_in = o->metrics_certificate,
                                                          .metrics = serving->options.metrics,
                                                          .ctx = serving->options.ctx},
                                 err);
    if (serving->scrape)
        log_info("serving /metrics", KVF("metrics_port", "%u", (unsigned)scrape_port(serving->scrape)));
    return serving->scrape != NULL;
}

static bool start(struct serving *serving, struct loop *loop, struct err *err)
{
    if (!identity_load(serving->options.identity, &serving->identity, err))
        return false;
    serving->kube =
        kube_new(loop, &serving->identity, &(struct kube_options){.program = "ipu-operator"}, err);
    return serving->kube && start_webhooks(serving, err) && start_scrape(serving, err);
}

struct serving *serving_new(struct loop *loop, const struct serving_options *options, struct err *err)
{
    struct serving *serving = NEW(struct serving);

    serving->options = *options;
    if (!start(serving, loop, err)) {
        serving_free(serving);
        return NULL;
    }
    return serving;
}

void serving_free(struct serving *serving)
{
    if (!serving)
        return;
    scrape_free(serving->scrape); /* it tells of the webhooks, which tell of nobody */
    webhooks_free(serving->webhooks);
    kube_free(serving->kube);
    identity_release(&serving->identity);
    strv_release(&serving->webhook_names);
    strv_release(&serving->metrics_names);
    mem_free(serving);
}

size_t serving_counters(const struct serving *serving, const struct kube_counter **ret)
{
    return serving ? kube_counters(serving->kube, ret) : 0;
}

struct webhooks *serving_webhooks(const struct serving *serving)
{
    return serving ? serving->webhooks : NULL;
}

const struct scrape *serving_scrape(const struct serving *serving)
{
    return serving ? serving->scrape : NULL;
}
