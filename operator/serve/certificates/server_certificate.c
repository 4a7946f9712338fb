#include "operator/serve/certificates/server_certificate.h"

#include "base/core/mem.h"
#include "base/io/file.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "operator/serve/certificates/certificate.h"

#define FILE_MAX_BYTES ((size_t)256 * 1024)
#define RELOAD_MS 10000 /* kubelets need longer until a changed Secret shows in a pod */

struct server_certificate {
    struct loop *loop;
    struct server_certificate_options options;
    struct certificate served;
    struct loop_timer timer;
    bool has_logged_problem; /* the current problem with the files is logged */
};

static int64_t now_s(void)
{
    return loop_unix_micros() / 1000000;
}

static bool read_one(const struct server_certificate *own, const char *file, char **ret, struct err *err)
{
    AUTO(mem) char *path = mem_printf("%s/%s", own->options.directory, file);
    AUTO(str) struct str text = {0};

    if (!file_read(path, FILE_MAX_BYTES, &text, err))
        return false;
    *ret = str_take(&text);
    return true;
}

/* The certificate to serve now; false with an error if there is none. */
static bool load(const struct server_certificate *own, struct certificate *ret, struct err *err)
{
    if (own->options.directory)
        return read_one(own, "tls.crt", &ret->cert, err) && read_one(own, "tls.key", &ret->key, err);
    certificate_make(own->options.names, now_s(), NULL, ret);
    return true;
}

static bool is_due(const struct server_certificate *own)
{
    return own->options.directory || now_s() >= certificate_renewal_time_s(&own->served);
}

static void swap(struct server_certificate *own, struct certificate *next)
{
    struct certificate old = own->served;

    own->served = *next;
    *next = old;
    own->has_logged_problem = false;
}

/* A partial update, or a mistake: keep the current certificate, and log the problem once. */
static void log_problem_once(struct server_certificate *own, const struct err *err)
{
    if (!own->has_logged_problem)
        log_error("cannot load the certificate of a server, keeping the previous one",
                  KV("server", own->options.server), KV("directory", own->options.directory),
                  KV("cause", err->msg));
    own->has_logged_problem = true;
}

static void renew(struct server_certificate *own)
{
    AUTO(certificate) struct certificate next = {0};
    struct err err = {0};

    if (!load(own, &next, &err)) {
        log_problem_once(own, &err);
        return;
    }
    if (str_eq(next.cert, own->served.cert) && str_eq(next.key, own->served.key))
        return;
    if (!own->options.use(own->options.ctx, &(struct http_server_tls){next.cert, next.key}, &err)) {
        log_problem_once(own, &err);
        return;
    }
    swap(own, &next);
    log_info("certificate of a server loaded", KV("server", own->options.server));
}

static void on_timer(struct loop_timer *timer)
{
    struct server_certificate *own = CONTAINER_OF(timer, struct server_certificate, timer);

    if (is_due(own))
        renew(own);
    loop_timer_start(own->loop, &own->timer, RELOAD_MS, on_timer);
}

struct server_certificate *
server_certificate_new(struct loop *loop, const struct server_certificate_options *options, struct err *err)
{
    struct server_certificate *own = NEW(struct server_certificate);

    own->loop = loop;
    own->options = *options;
    if (!load(own, &own->served, err)) {
        server_certificate_free(own);
        return NULL;
    }
    loop_timer_start(loop, &own->timer, RELOAD_MS, on_timer);
    return own;
}

void server_certificate_free(struct server_certificate *certificate)
{
    if (!certificate)
        return;
    loop_timer_stop(&certificate->timer);
    certificate_release(&certificate->served);
    mem_free(certificate);
}

struct http_server_tls server_certificate_tls(const struct server_certificate *certificate)
{
    return (struct http_server_tls){certificate->served.cert, certificate->served.key};
}

int64_t server_certificate_end_s(const struct server_certificate *certificate)
{
    return certificate_end_s(&certificate->served);
}
