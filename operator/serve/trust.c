#include "operator/serve/trust.h"

#include <string.h>

#include "base/core/backoff.h"
#include "base/core/mem.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/kube/client.h"
#include "operator/kube/watch.h"
#include "operator/serve/bundle.h"
#include "operator/serve/keeping.h"

enum { CONFIGS = 2, HOUR_MS = 3600 * 1000, NOTICE_MS = 5 * 1000, GONE_MS = 10 * 1000 };

static const struct backoff patience = {.first_ms = 1000, .max_ms = 60 * 1000}; /* with a failure */
static const struct backoff curiosity = {.first_ms = 100, .max_ms = 60 * 1000}; /* what a success came to */

/* One of the two webhook configurations. */
struct bundle {
    struct trust *trust;
    const struct kube_resource *resource;
    struct watch *watch; /* its views are the list of its webhooks */
    struct kube_call *call;
    struct bundle_others others[BUNDLE_WEBHOOKS_MAX];
};

struct trust {
    struct kube *kube;
    struct loop *loop;
    struct trust_options options;
    char *ns, *name;
    char *given;      /* the Secret, if somebody else keeps it */
    const char *told; /* what is wrong with that one, as it was logged last */
    struct watch *secret;
    struct kube_call *write;
    struct bundle bundles[CONFIGS];
    struct certificate shown; /* what on_certificate had last */
    struct loop_timer timer;  /* the next look without a cause */
    char *announced;          /* the certificate whose CA API servers are taking note of */
    struct loop_timer notice; /* while they do */
    int64_t gone_ms;          /* since when the Secret is missed; 0: it is not */
    bool is_unasked;          /* it is gone, and so are the configurations: that was logged */
    unsigned tries;           /* writes since all was well */
};

static void look(struct trust *trust);

static int64_t now_s(void)
{
    return loop_unix_micros() / 1000000;
}

static void on_timer(struct loop_timer *timer)
{
    look(CONTAINER_OF(timer, struct trust, timer));
}

static void look_later(struct trust *trust, int64_t delay_ms)
{
    loop_timer_start(trust->loop, &trust->timer, delay_ms, on_timer);
}

/* What was written shows in a watch, maybe before its answer and maybe later; never in one that died
 * silently, and then it would be written again and again. */
static void on_success(struct trust *trust)
{
    look_later(trust, backoff_delay_ms(&curiosity, ++trust->tries, loop_dice()));
}

static void on_failure(struct trust *trust, const char *what, const struct kube_response *res)
{
    log_warn(what, KV("name", trust->name), KV("cause", res->err.msg));
    look_later(trust, backoff_delay_ms(&patience, ++trust->tries, loop_dice()));
}

/* ---- the Secret ---- */

static void on_written(void *ctx, struct kube_response *res)
{
    struct trust *trust = ctx;

    trust->write = NULL;
    /* Another replica was faster: what it wrote serves us as well. */
    if (res->err.kind == ERR_NONE || res->err.kind == ERR_CONFLICT || res->err.kind == ERR_EXISTS)
        on_success(trust);
    else
        on_failure(trust, "the webhooks' certificate cannot be kept", res);
}

/* The watch brings what comes of it, to us and to the other replicas. */
static void renew(struct trust *trust, const struct keeping *old, const char *why)
{
    AUTO(certificate) struct certificate made = {0};
    AUTO(json) cJSON *body = NULL;

    log_info("renewing the webhooks' certificate", KV("secret", trust->name), KV("because", why));
    /* What is shown now must stay trusted until it is shown no more, even if the Secret forgot it. */
    certificate_make(trust->options.names, now_s(),
                     trust->shown.ca ? trust->shown.ca
                     : old           ? old->certificate.ca
                                     : NULL,
                     &made);
    body = keeping_body(trust->name, old, &made);
    trust->write = kube_send(trust->kube,
                             &(struct kube_request){.method = old ? "PATCH" : "POST",
                                                    .resource = &KUBE_SECRETS,
                                                    .ns = trust->ns,
                                                    .name = old ? trust->name : NULL,
                                                    .content_type = old ? KUBE_MERGE_PATCH : NULL,
                                                    .body = body},
                             on_written, trust);
}

/* ---- the configurations ---- */

static bool view_webhooks(void *ctx, const cJSON *item, void **ret)
{
    (void)ctx;
    return (*ret = json_dup(json_at(item, "webhooks"))) != NULL;
}

static void free_webhooks(void *view)
{
    cJSON_Delete(view);
}

static void on_bundled(void *ctx, struct kube_response *res)
{
    struct bundle *bundle = ctx;

    bundle->call = NULL;
    if (res->err.kind == ERR_NONE)
        on_success(bundle->trust);
    else
        on_failure(bundle->trust, "a webhook configuration cannot be told whom to trust", res);
}

/* True when this configuration is there and trusts `ca` (PEM), or is not there. */
static bool bundle_is_told(struct bundle *bundle, const char *ca)
{
    struct trust *trust = bundle->trust;

    if (bundle->call)
        return false;
    AUTO(json)
    cJSON *patch =
        bundle_patch(store_view(watch_store(bundle->watch), NULL, trust->name), ca, now_s(), bundle->others);
    if (!patch->child)
        return true;
    bundle->call = kube_send(trust->kube,
                             &(struct kube_request){.method = "PATCH",
                                                    .resource = bundle->resource,
                                                    .name = trust->name,
                                                    .content_type = KUBE_JSON_PATCH,
                                                    .body = patch},
                             on_bundled, bundle);
    return false;
}

/* ---- both ---- */

static void show(struct trust *trust, const struct certificate *certificate)
{
    certificate_release(&trust->shown);
    trust->shown = (struct certificate){.ca = mem_strdup(certificate->ca),
                                        .cert = mem_strdup(certificate->cert),
                                        .key = mem_strdup(certificate->key)};
    trust->options.on_certificate(trust->options.ctx, &trust->shown);
}

static const char *secret_name(const struct trust *trust)
{
    return trust->given ? trust->given : trust->name;
}

static const struct keeping *kept(const struct trust *trust)
{
    return store_view(watch_store(trust->secret), trust->ns, secret_name(trust));
}

static const char *fault_of(const struct trust *trust, const struct keeping *keeping)
{
    if (!keeping)
        return "there is no Secret";
    return certificate_fault(&keeping->certificate, trust->options.names, trust->given != NULL, now_s());
}

/* It is looked at again when it changes. */
static void tell(struct trust *trust, const char *fault)
{
    if (!str_eq(trust->told, fault))
        log_warn("the webhooks' certificate, which others keep, cannot be used", KV("secret", trust->given),
                 KV("cause", fault));
    trust->told = fault;
}

static void on_noticed(struct loop_timer *timer)
{
    struct trust *trust = CONTAINER_OF(timer, struct trust, notice);
    const struct keeping *keeping = kept(trust);

    /* Another one since then is announced for itself. */
    if (!fault_of(trust, keeping) && str_eq(keeping->certificate.cert, trust->announced))
        show(trust, &keeping->certificate);
    mem_set_str(&trust->announced, NULL);
    look(trust);
}

static void announce(struct trust *trust, const struct certificate *certificate)
{
    mem_set_str(&trust->announced, certificate->cert);
    loop_timer_start(trust->loop, &trust->notice, NOTICE_MS, on_noticed);
}

static void use(struct trust *trust, const struct certificate *certificate)
{
    /* Those that we make know the CAs before them; others' do not. */
    bool is_first_of_two = trust->given && trust->shown.cert && !str_eq(trust->shown.cert, certificate->cert);
    AUTO(mem) char *trusted = bundle_join(certificate->ca, is_first_of_two ? trust->shown.ca : NULL);
    int64_t farewell_ms = INT64_MAX;
    bool told = true;

    for (size_t i = 0; i < CONFIGS; i++) {
        told = bundle_is_told(&trust->bundles[i], trusted) && told;
        int64_t next_ms = bundle_farewell_ms(trust->bundles[i].others, now_s());
        farewell_ms = next_ms < farewell_ms ? next_ms : farewell_ms;
    }
    if (!told)
        return;
    trust->tries = 0;
    if (farewell_ms != INT64_MAX)
        look_later(trust, farewell_ms);
    if (str_eq(trust->shown.cert, certificate->cert))
        return;
    if (!trust->shown.cert)
        show(trust, certificate);
    else if (!str_eq(trust->announced, certificate->cert))
        announce(trust, certificate);
}

static bool is_synced(const struct trust *trust)
{
    bool all = watch_is_synced(trust->secret);

    for (size_t i = 0; i < CONFIGS; i++)
        all = all && watch_is_synced(trust->bundles[i].watch);
    return all;
}

static bool is_asked_for(const struct trust *trust)
{
    bool any = false;

    for (size_t i = 0; i < CONFIGS; i++)
        any = any || store_view(watch_store(trust->bundles[i].watch), NULL, trust->name);
    return any;
}

/* Helm takes configurations and Secret away while this process is told to end, which may take its time. Who
 * made the Secret anew would leave one behind that the next installation stumbles over: without a
 * configuration nobody needs one, and what is shown is good while that is waited for. */
static bool may_renew_now(struct trust *trust, const struct keeping *keeping)
{
    int64_t now_ms = loop_clock_ms(), left_ms;
    bool is_unasked = !keeping && !is_asked_for(trust);

    if (is_unasked && !trust->is_unasked)
        log_info("without webhook configurations their Secret is not made", KV("secret", trust->name));
    trust->is_unasked = is_unasked;
    if (keeping || is_unasked || !trust->shown.cert)
        return !is_unasked;
    if (!trust->gone_ms)
        trust->gone_ms = now_ms;
    left_ms = trust->gone_ms + GONE_MS - now_ms;
    if (left_ms > 0)
        look_later(trust, left_ms);
    return left_ms <= 0;
}

static void look(struct trust *trust)
{
    if (!loop_timer_is_running(&trust->timer))
        look_later(trust, HOUR_MS);
    if (trust->write || !is_synced(trust))
        return;
    const struct keeping *keeping = kept(trust);
    const char *fault = fault_of(trust, keeping);
    if (keeping)
        trust->gone_ms = 0;
    if (trust->given)
        tell(trust, fault);
    if (!fault)
        use(trust, &keeping->certificate);
    else if (!trust->given && may_renew_now(trust, keeping))
        renew(trust, keeping, fault);
}

static void on_synced(void *ctx)
{
    look(ctx);
}

static void on_change(void *ctx, const struct store_change *change)
{
    (void)change;
    look(ctx);
}

static struct watch *watch_one(struct trust *trust, const struct kube_resource *resource, const char *ns,
                               const char *name, bool (*view)(void *, const cJSON *, void **),
                               void (*view_free)(void *))
{
    AUTO(mem) char *selector = mem_printf("metadata.name=%s", name);

    return watch_new(trust->kube, &(struct watch_options){.resource = resource,
                                                          .ns = ns,
                                                          .field_selector = selector,
                                                          .view = view,
                                                          .view_free = view_free,
                                                          .on_change = on_change,
                                                          .on_synced = on_synced,
                                                          .ctx = trust});
}

struct trust *trust_new(struct kube *kube, const struct trust_options *options)
{
    static const struct kube_resource *const configs[CONFIGS] = {&KUBE_MUTATING_WEBHOOKS,
                                                                 &KUBE_VALIDATING_WEBHOOKS};
    struct trust *trust = NEW(struct trust);

    trust->kube = kube;
    trust->loop = kube_loop(kube);
    trust->options = *options;
    trust->ns = mem_strdup(options->ns);
    trust->name = mem_strdup(options->name);
    trust->given = options->given ? mem_strdup(options->given) : NULL;
    trust->secret =
        watch_one(trust, &KUBE_SECRETS, trust->ns, secret_name(trust), keeping_view, keeping_free);
    for (size_t i = 0; i < CONFIGS; i++)
        trust->bundles[i] = (struct bundle){
            .trust = trust,
            .resource = configs[i],
            .watch = watch_one(trust, configs[i], NULL, trust->name, view_webhooks, free_webhooks),
        };
    return trust;
}

int64_t trust_end_s(const struct trust *trust)
{
    return trust->shown.cert ? certificate_end_s(&trust->shown) : 0;
}

void trust_free(struct trust *trust)
{
    if (!trust)
        return;
    loop_timer_stop(&trust->timer);
    loop_timer_stop(&trust->notice);
    kube_cancel(trust->write);
    for (size_t i = 0; i < CONFIGS; i++) {
        kube_cancel(trust->bundles[i].call);
        watch_free(trust->bundles[i].watch);
    }
    watch_free(trust->secret);
    certificate_release(&trust->shown);
    mem_free(trust->ns);
    mem_free(trust->name);
    mem_free(trust->given);
    mem_free(trust->announced);
    mem_free(trust);
}
