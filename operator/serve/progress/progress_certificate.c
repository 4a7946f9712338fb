#include "operator/serve/progress/progress_certificate.h"

#include "base/core/backoff.h"
#include "base/core/mem.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/kube/client/client.h"
#include "operator/serve/certificates/certificate_secret.h"

static const struct backoff retry = {.first_ms = 1000, .max_ms = 60 * 1000};

struct progress_certificate {
    struct kube *kube;
    struct progress_certificate_options options;
    struct kube_call *call;
    struct loop_timer timer;
    unsigned tries;
};

static void read_secret(struct progress_certificate *it);

static void on_timer(struct loop_timer *timer)
{
    read_secret(CONTAINER_OF(timer, struct progress_certificate, timer));
}

static void read_later(struct progress_certificate *it)
{
    loop_timer_start(kube_loop(it->kube), &it->timer,
                     backoff_delay_ms(&retry, ++it->tries, loop_random_u32()), on_timer);
}

/* What the Secret has now is read in any case: it is the same for all replicas. */
static void on_written(void *ctx, struct kube_response *res)
{
    struct progress_certificate *it = ctx;

    it->call = NULL;
    if (res->err.kind == ERR_NONE) {
        read_secret(it);
        return;
    }
    if (res->err.kind != ERR_CONFLICT) /* another replica was faster */
        log_warn("cannot store the certificate of the progress server", KV("secret", it->options.secret),
                 KV("cause", res->err.msg));
    read_later(it);
}

static void write_secret(struct progress_certificate *it, const struct certificate_secret *old,
                         const char *why)
{
    AUTO(certificate) struct certificate made = {0};
    AUTO(json) cJSON *body = NULL;

    log_info("creating the certificate of the progress server", KV("secret", it->options.secret),
             KV("because", why));
    certificate_make_lasting(it->options.names, loop_unix_micros() / 1000000, &made);
    body = certificate_secret_body(it->options.secret, old, &made);
    it->call = kube_send(it->kube,
                         &(struct kube_request){.method = "PATCH",
                                                .resource = &KUBE_SECRETS,
                                                .ns = it->options.ns,
                                                .name = it->options.secret,
                                                .content_type = KUBE_MERGE_PATCH,
                                                .body = body},
                         on_written, it);
}

static void on_read(void *ctx, struct kube_response *res)
{
    struct progress_certificate *it = ctx;
    struct certificate_secret *found;
    const char *problem;
    void *view;

    it->call = NULL;
    if (res->err.kind != ERR_NONE) {
        log_warn("cannot read the certificate of the progress server", KV("secret", it->options.secret),
                 KV("cause", res->err.msg));
        read_later(it);
        return;
    }
    certificate_secret_view(NULL, res->body, &view);
    found = view;
    problem = certificate_problem(&found->certificate, it->options.names, true, loop_unix_micros() / 1000000);
    if (problem)
        write_secret(it, found, problem);
    else
        it->options.on_certificate(it->options.ctx, &found->certificate);
    certificate_secret_free(found);
}

static void read_secret(struct progress_certificate *it)
{
    it->call = kube_send(
        it->kube,
        &(struct kube_request){
            .method = "GET", .resource = &KUBE_SECRETS, .ns = it->options.ns, .name = it->options.secret},
        on_read, it);
}

struct progress_certificate *progress_certificate_new(struct kube *kube,
                                                      const struct progress_certificate_options *options)
{
    struct progress_certificate *it = NEW(struct progress_certificate);

    it->kube = kube;
    it->options = *options;
    read_secret(it);
    return it;
}

void progress_certificate_free(struct progress_certificate *it)
{
    if (!it)
        return;
    loop_timer_stop(&it->timer);
    kube_cancel(it->call);
    mem_free(it);
}
