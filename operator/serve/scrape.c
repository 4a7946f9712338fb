#include "operator/serve/scrape.h"

#include "base/core/mem.h"
#include "base/doc/openmetrics.h"
#include "base/io/file.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/io/serve.h"
#include "operator/kube/client.h"
#include "operator/serve/certificate.h"
#include "operator/serve/guard.h"

#define FILE_MAX_BYTES ((size_t)256 * 1024)
#define LOOK_MS 10000 /* kubelets need longer until a changed Secret shows in a pod */

struct scrape {
    struct loop *loop;
    struct scrape_options options;
    struct serve_route routes[2]; /* the last one ends the list */
    struct serve *serve;
    struct guard *guard;
    struct certificate shown;
    struct loop_timer timer;
    bool blamed; /* it was said that the files cannot be used */
};

static int64_t now_s(void)
{
    return loop_unix_micros() / 1000000;
}

static void let(void *ctx, struct serve_request *request)
{
    struct scrape *scrape = ctx;
    AUTO(str) struct str text = {0};

    scrape->options.metrics(scrape->options.ctx, &text);
    serve_reply(request, 200, OPENMETRICS_CONTENT_TYPE, str_slice(&text));
}

/* ---- the certificate ---- */

static bool read_one(const struct scrape *scrape, const char *file, char **ret, struct err *err)
{
    AUTO(mem) char *path = mem_printf("%s/%s", scrape->options.certificate_in, file);
    AUTO(str) struct str text = {0};

    if (!file_read(path, FILE_MAX_BYTES, &text, err))
        return false;
    *ret = str_take(&text);
    return true;
}

static bool read_files(const struct scrape *scrape, struct certificate *ret, struct err *err)
{
    return read_one(scrape, "tls.crt", &ret->cert, err) && read_one(scrape, "tls.key", &ret->key, err);
}

/* What is to be shown now; false, with what is wrong, when there is nothing to show. */
static bool find(const struct scrape *scrape, struct certificate *ret, struct err *err)
{
    if (scrape->options.certificate_in)
        return read_files(scrape, ret, err);
    certificate_make(scrape->options.names, now_s(), NULL, ret);
    return true;
}

static bool is_due(const struct scrape *scrape)
{
    return scrape->options.certificate_in || now_s() >= certificate_due_s(&scrape->shown);
}

static void show(struct scrape *scrape, struct certificate *next)
{
    struct certificate old = scrape->shown;

    scrape->shown = *next;
    *next = old;
    scrape->blamed = false;
}

/* Half of a change, or a mistake: what is in place stays, and is said once. */
static void blame(struct scrape *scrape, const struct err *err)
{
    if (!scrape->blamed)
        log_error("the certificate of /metrics cannot be used; the one before stays",
                  KV("folder", scrape->options.certificate_in), KV("cause", err->msg));
    scrape->blamed = true;
}

static void renew(struct scrape *scrape)
{
    AUTO(certificate) struct certificate next = {0};
    struct err err = {0};

    if (!find(scrape, &next, &err)) {
        blame(scrape, &err);
        return;
    }
    if (str_eq(next.cert, scrape->shown.cert) && str_eq(next.key, scrape->shown.key))
        return;
    if (!serve_set_tls(scrape->serve, &(struct serve_tls){next.cert, next.key}, &err)) {
        blame(scrape, &err);
        return;
    }
    show(scrape, &next);
    log_info("/metrics has a new certificate");
}

static void on_timer(struct loop_timer *timer)
{
    struct scrape *scrape = CONTAINER_OF(timer, struct scrape, timer);

    if (is_due(scrape))
        renew(scrape);
    loop_timer_start(scrape->loop, &scrape->timer, LOOK_MS, on_timer);
}

/* ---- life cycle ---- */

static bool open_server(struct scrape *scrape, struct err *err)
{
    if (!find(scrape, &scrape->shown, err))
        return false;
    scrape->serve =
        serve_new(scrape->loop,
                  &(struct serve_options){.port = scrape->options.port,
                                          .routes = scrape->routes,
                                          .tls = &(struct serve_tls){scrape->shown.cert, scrape->shown.key}},
                  err);
    return scrape->serve != NULL;
}

struct scrape *scrape_new(struct kube *kube, const struct scrape_options *options, struct err *err)
{
    struct scrape *scrape = NEW(struct scrape);

    scrape->loop = kube_loop(kube);
    scrape->options = *options;
    scrape->guard = guard_new(kube, let, scrape);
    scrape->routes[0] =
        (struct serve_route){.path = "/metrics", .fn = guard_ask, .gone = guard_forget, .ctx = scrape->guard};
    if (!open_server(scrape, err)) {
        err_wrap(err, "the port of /metrics");
        scrape_free(scrape);
        return NULL;
    }
    loop_timer_start(scrape->loop, &scrape->timer, LOOK_MS, on_timer);
    return scrape;
}

void scrape_free(struct scrape *scrape)
{
    if (!scrape)
        return;
    loop_timer_stop(&scrape->timer);
    serve_free(scrape->serve); /* and with it every visit */
    guard_free(scrape->guard);
    certificate_release(&scrape->shown);
    mem_free(scrape);
}

uint16_t scrape_port(const struct scrape *scrape)
{
    return serve_port(scrape->serve);
}

int64_t scrape_certificate_end_s(const struct scrape *scrape)
{
    return certificate_end_s(&scrape->shown);
}
