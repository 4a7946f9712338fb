#include "operator/serve/certificates/cert_rotator.h"

#include "base/core/backoff.h"
#include "base/core/mem.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/kube/client/client.h"
#include "operator/kube/watch/watch.h"
#include "operator/serve/certificates/ca_bundle.h"
#include "operator/serve/certificates/certificate_secret.h"

enum { CONFIGS = 2, HOUR_MS = 3600 * 1000, SWITCH_DELAY_MS = 5 * 1000, RECREATE_DELAY_MS = 10 * 1000 };

static const struct backoff error_backoff = {.first_ms = 1000,
                                             .max_ms = 60 * 1000}; /* after a failed write */
static const struct backoff refresh_backoff = {
    .first_ms = 100, .max_ms = 60 * 1000}; /* until the watch shows a successful write */

/* One of the two webhook configurations. */
struct bundle {
    struct cert_rotator *cert_rotator;
    const struct kube_resource *resource;
    struct watch *watch; /* its views are the list of its webhooks */
    struct kube_call *call;
    struct ca_bundle_others others[CA_BUNDLE_WEBHOOKS_MAX];
};

struct cert_rotator {
    struct kube *kube;
    struct loop *loop;
    struct cert_rotator_options options;
    char *ns, *name;
    char *given;                /* the provided Secret, or NULL */
    const char *logged_problem; /* what is wrong with that one, as it was logged last */
    struct watch *secret;
    struct kube_call *write;
    struct bundle bundles[CONFIGS];
    struct certificate served;      /* what on_certificate had last */
    struct loop_timer timer;        /* the next look without a cause */
    char *next_cert;                /* the certificate whose CA API servers are taking note of */
    struct loop_timer switch_timer; /* while they do */
    int64_t missing_since_ms;       /* since when the Secret is missed; 0: it is not */
    bool has_no_configuration;      /* it is gone, and so are the configurations: that was logged */
    unsigned tries;                 /* writes since all was well */
};

static void reconcile(struct cert_rotator *rotator);

static int64_t now_s(void)
{
    return loop_unix_micros() / 1000000;
}

static void on_timer(struct loop_timer *timer)
{
    reconcile(CONTAINER_OF(timer, struct cert_rotator, timer));
}

static void reconcile_after(struct cert_rotator *rotator, int64_t delay_ms)
{
    loop_timer_start(rotator->loop, &rotator->timer, delay_ms, on_timer);
}

/* A write shows in the watch, before its response or later; if the watch is stale, back off instead of
 * writing again and again. */
static void on_success(struct cert_rotator *rotator)
{
    reconcile_after(rotator, backoff_delay_ms(&refresh_backoff, ++rotator->tries, loop_random_u32()));
}

static void on_failure(struct cert_rotator *rotator, const char *what, const struct kube_response *res)
{
    log_warn(what, KV("name", rotator->name), KV("cause", res->err.msg));
    reconcile_after(rotator, backoff_delay_ms(&error_backoff, ++rotator->tries, loop_random_u32()));
}

/* ---- the Secret ---- */

static void on_written(void *ctx, struct kube_response *res)
{
    struct cert_rotator *rotator = ctx;

    rotator->write = NULL;
    /* Another replica was faster: this one uses what it wrote. */
    if (res->err.kind == ERR_NONE || res->err.kind == ERR_CONFLICT || res->err.kind == ERR_EXISTS)
        on_success(rotator);
    else
        on_failure(rotator, "cannot store the webhook certificate", res);
}

/* The watch delivers the result, to this replica and to the others. */
static void renew(struct cert_rotator *rotator, const struct certificate_secret *old, const char *why)
{
    AUTO(certificate) struct certificate made = {0};
    AUTO(json) cJSON *body = NULL;

    log_info("renewing the webhook certificate", KV("secret", rotator->name), KV("because", why));
    /* The served certificate must stay trusted until it is replaced, even if the Secret was deleted. */
    certificate_make(rotator->options.names, now_s(),
                     rotator->served.ca ? rotator->served.ca
                     : old              ? old->certificate.ca
                                        : NULL,
                     &made);
    body = certificate_secret_body(rotator->name, old, &made);
    rotator->write = kube_send(rotator->kube,
                               &(struct kube_request){.method = old ? "PATCH" : "POST",
                                                      .resource = &KUBE_SECRETS,
                                                      .ns = rotator->ns,
                                                      .name = old ? rotator->name : NULL,
                                                      .content_type = old ? KUBE_MERGE_PATCH : NULL,
                                                      .body = body},
                               on_written, rotator);
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
        on_success(bundle->cert_rotator);
    else
        on_failure(bundle->cert_rotator, "cannot update caBundle of a webhook configuration", res);
}

/* True if this configuration trusts `ca` (PEM) or does not exist; otherwise updates it. */
static bool bundle_trusts(struct bundle *bundle, const char *ca)
{
    struct cert_rotator *rotator = bundle->cert_rotator;

    if (bundle->call)
        return false;
    AUTO(json)
    cJSON *patch = ca_bundle_patch(store_view(watch_store(bundle->watch), NULL, rotator->name), ca, now_s(),
                                   bundle->others);
    if (!patch->child)
        return true;
    bundle->call = kube_send(rotator->kube,
                             &(struct kube_request){.method = "PATCH",
                                                    .resource = bundle->resource,
                                                    .name = rotator->name,
                                                    .content_type = KUBE_JSON_PATCH,
                                                    .body = patch},
                             on_bundled, bundle);
    return false;
}

/* ---- both ---- */

static void serve_certificate(struct cert_rotator *rotator, const struct certificate *certificate)
{
    certificate_release(&rotator->served);
    rotator->served = (struct certificate){.ca = mem_strdup(certificate->ca),
                                           .cert = mem_strdup(certificate->cert),
                                           .key = mem_strdup(certificate->key)};
    rotator->options.on_certificate(rotator->options.ctx, &rotator->served);
}

static const char *secret_name(const struct cert_rotator *rotator)
{
    return rotator->given ? rotator->given : rotator->name;
}

static const struct certificate_secret *stored_certificate(const struct cert_rotator *rotator)
{
    return store_view(watch_store(rotator->secret), rotator->ns, secret_name(rotator));
}

static const char *problem_of(const struct cert_rotator *rotator,
                              const struct certificate_secret *certificate_secret)
{
    if (!certificate_secret)
        return "Secret not found";
    return certificate_problem(&certificate_secret->certificate, rotator->options.names,
                               rotator->given != NULL, now_s());
}

/* A change of the Secret triggers the next check. */
static void log_problem(struct cert_rotator *rotator, const char *problem)
{
    if (!str_eq(rotator->logged_problem, problem))
        log_warn("cannot use the provided webhook certificate", KV("secret", rotator->given),
                 KV("cause", problem));
    rotator->logged_problem = problem;
}

static void on_switch_due(struct loop_timer *timer)
{
    struct cert_rotator *rotator = CONTAINER_OF(timer, struct cert_rotator, switch_timer);
    const struct certificate_secret *certificate_secret = stored_certificate(rotator);

    /* A newer certificate schedules its own switch. */
    if (!problem_of(rotator, certificate_secret) &&
        str_eq(certificate_secret->certificate.cert, rotator->next_cert))
        serve_certificate(rotator, &certificate_secret->certificate);
    mem_set_str(&rotator->next_cert, NULL);
    reconcile(rotator);
}

static void roll_out(struct cert_rotator *rotator, const struct certificate *certificate)
{
    /* Generated certificates include the previous CAs; provided ones do not. */
    bool is_first_of_two =
        rotator->given && rotator->served.cert && !str_eq(rotator->served.cert, certificate->cert);
    AUTO(mem)
    char *trusted = ca_bundle_join(certificate->ca, is_first_of_two ? rotator->served.ca : NULL);
    int64_t first_expiry_ms = INT64_MAX;
    bool all_trust = true;

    for (size_t i = 0; i < CONFIGS; i++) {
        all_trust = bundle_trusts(&rotator->bundles[i], trusted) && all_trust;
        int64_t next_ms = ca_bundle_next_expiry_ms(rotator->bundles[i].others, now_s());
        first_expiry_ms = next_ms < first_expiry_ms ? next_ms : first_expiry_ms;
    }
    if (!all_trust)
        return;
    rotator->tries = 0;
    if (first_expiry_ms != INT64_MAX)
        reconcile_after(rotator, first_expiry_ms);
    if (str_eq(rotator->served.cert, certificate->cert))
        return;
    if (!rotator->served.cert) {
        serve_certificate(rotator, certificate);
    } else if (!str_eq(rotator->next_cert, certificate->cert)) {
        mem_set_str(&rotator->next_cert, certificate->cert);
        loop_timer_start(rotator->loop, &rotator->switch_timer, SWITCH_DELAY_MS, on_switch_due);
    }
}

static bool is_synced(const struct cert_rotator *rotator)
{
    bool all = watch_is_synced(rotator->secret);

    for (size_t i = 0; i < CONFIGS; i++)
        all = all && watch_is_synced(rotator->bundles[i].watch);
    return all;
}

static bool has_webhook_configuration(const struct cert_rotator *rotator)
{
    bool any = false;

    for (size_t i = 0; i < CONFIGS; i++)
        any = any || store_view(watch_store(rotator->bundles[i].watch), NULL, rotator->name);
    return any;
}

/* During helm uninstall, the configurations and the Secret are deleted while this process is still
 * terminating. A re-created Secret would stay behind and block the next installation: do not create one
 * without a configuration, and wait before replacing a missing one; the served certificate stays valid
 * meanwhile. */
static bool may_renew_now(struct cert_rotator *rotator, const struct certificate_secret *certificate_secret)
{
    int64_t now_ms = loop_clock_ms(), left_ms;
    bool has_no_configuration = !certificate_secret && !has_webhook_configuration(rotator);

    if (has_no_configuration && !rotator->has_no_configuration)
        log_info("no webhook configurations found, not creating the certificate Secret",
                 KV("secret", rotator->name));
    rotator->has_no_configuration = has_no_configuration;
    if (certificate_secret || has_no_configuration || !rotator->served.cert)
        return !has_no_configuration;
    if (!rotator->missing_since_ms)
        rotator->missing_since_ms = now_ms;
    left_ms = rotator->missing_since_ms + RECREATE_DELAY_MS - now_ms;
    if (left_ms > 0)
        reconcile_after(rotator, left_ms);
    return left_ms <= 0;
}

static void reconcile(struct cert_rotator *rotator)
{
    if (!loop_timer_is_running(&rotator->timer))
        reconcile_after(rotator, HOUR_MS);
    if (rotator->write || !is_synced(rotator))
        return;
    const struct certificate_secret *certificate_secret = stored_certificate(rotator);
    const char *problem = problem_of(rotator, certificate_secret);
    if (certificate_secret)
        rotator->missing_since_ms = 0;
    if (rotator->given)
        log_problem(rotator, problem);
    if (!problem)
        roll_out(rotator, &certificate_secret->certificate);
    else if (!rotator->given && may_renew_now(rotator, certificate_secret))
        renew(rotator, certificate_secret, problem);
}

static void on_synced(void *ctx)
{
    reconcile(ctx);
}

static void on_change(void *ctx, const struct store_change *change)
{
    (void)change;
    reconcile(ctx);
}

static struct watch *watch_one(struct cert_rotator *rotator, const struct kube_resource *resource,
                               const char *ns, const char *name, bool (*view)(void *, const cJSON *, void **),
                               void (*view_free)(void *))
{
    AUTO(mem) char *selector = mem_printf("metadata.name=%s", name);

    return watch_new(rotator->kube, &(struct watch_options){.resource = resource,
                                                            .ns = ns,
                                                            .field_selector = selector,
                                                            .view = view,
                                                            .view_free = view_free,
                                                            .on_change = on_change,
                                                            .on_synced = on_synced,
                                                            .ctx = rotator});
}

struct cert_rotator *cert_rotator_new(struct kube *kube, const struct cert_rotator_options *options)
{
    static const struct kube_resource *const configs[CONFIGS] = {&KUBE_MUTATING_WEBHOOKS,
                                                                 &KUBE_VALIDATING_WEBHOOKS};
    struct cert_rotator *rotator = NEW(struct cert_rotator);

    rotator->kube = kube;
    rotator->loop = kube_loop(kube);
    rotator->options = *options;
    rotator->ns = mem_strdup(options->ns);
    rotator->name = mem_strdup(options->name);
    rotator->given = options->given ? mem_strdup(options->given) : NULL;
    rotator->secret = watch_one(rotator, &KUBE_SECRETS, rotator->ns, secret_name(rotator),
                                certificate_secret_view, certificate_secret_free);
    for (size_t i = 0; i < CONFIGS; i++)
        rotator->bundles[i] = (struct bundle){
            .cert_rotator = rotator,
            .resource = configs[i],
            .watch = watch_one(rotator, configs[i], NULL, rotator->name, view_webhooks, free_webhooks),
        };
    return rotator;
}

int64_t cert_rotator_expiry_s(const struct cert_rotator *rotator)
{
    return rotator->served.cert ? certificate_end_s(&rotator->served) : 0;
}

void cert_rotator_free(struct cert_rotator *rotator)
{
    if (!rotator)
        return;
    loop_timer_stop(&rotator->timer);
    loop_timer_stop(&rotator->switch_timer);
    kube_cancel(rotator->write);
    for (size_t i = 0; i < CONFIGS; i++) {
        kube_cancel(rotator->bundles[i].call);
        watch_free(rotator->bundles[i].watch);
    }
    watch_free(rotator->secret);
    certificate_release(&rotator->served);
    mem_free(rotator->ns);
    mem_free(rotator->name);
    mem_free(rotator->given);
    mem_free(rotator->next_cert);
    mem_free(rotator);
}
