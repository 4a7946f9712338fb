/* The other side of the benchmarks: puts load on an API server as bare as it gets, and tells when things have
 * happened.
 *
 *     api-load create KUBECONFIG NAMESPACE FILE COUNT   creates COUNT objects from a JSON file, "%u" in it
 * being the number, as many in flight as the operator's own client has api-load await KUBECONFIG NAMESPACE
 * COUNT         waits until so many pods are there
 *
 * Both print one JSON line with CLOCK_MONOTONIC milliseconds: {"count":N,"begin_ms":A,"end_ms":B}. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "base/io/loop.h"
#include "operator/kube/client.h"
#include "operator/kube/identity.h"
#include "operator/kube/watch.h"

#define FILE_MAX_BYTES ((size_t)1024 * 1024)

struct load {
    struct loop *loop;
    struct kube *kube;
    const char *ns;
    const struct kube_resource *resource;
    const char *pattern;
    uint32_t wanted, sent, done;
    int64_t begin_ms;
    struct watch *watch;
    bool failed;
};

static int64_t monotonic_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void report(const struct load *load)
{
    (void)printf("{\"count\":%u,\"begin_ms\":%lld,\"end_ms\":%lld}\n", load->done, (long long)load->begin_ms,
                 (long long)monotonic_ms());
}

/* ---- create ---- */

static void create_next(struct load *load);

static void on_created(void *ctx, struct kube_response *res)
{
    struct load *load = ctx;

    if (res->err.kind != ERR_NONE) {
        (void)fprintf(stderr, "api-load: %s\n", res->message);
        load->failed = true;
        loop_stop(load->loop);
        return;
    }
    if (++load->done == load->wanted)
        loop_stop(load->loop);
    else
        create_next(load);
}

static void add_numbered(struct str *out, const char *pattern, uint32_t number)
{
    const char *at;

    while ((at = strstr(pattern, "%u")) != NULL) {
        str_add(out, pattern, (size_t)(at - pattern));
        str_addf(out, "%u", number);
        pattern = at + 2;
    }
    str_adds(out, pattern);
}

static void create_next(struct load *load)
{
    AUTO(str) struct str body = {0};

    if (load->sent == load->wanted)
        return;
    add_numbered(&body, load->pattern, load->sent++);
    kube_send(load->kube,
              &(struct kube_request){
                  .method = "POST", .resource = load->resource, .ns = load->ns, .text = str_slice(&body)},
              on_created, load);
}

static bool create(struct load *load, const char *file, struct err *err)
{
    AUTO(str) struct str pattern = {0};

    if (!file_read(file, FILE_MAX_BYTES, &pattern, err))
        return false;
    load->pattern = str_text(&pattern);
    load->resource = strstr(load->pattern, "\"IPUJob\"") ? &KUBE_IPUJOBS : &KUBE_PODS;
    load->begin_ms = monotonic_ms();
    for (unsigned i = 0; i < KUBE_WINDOW; i++)
        create_next(load);
    loop_run(load->loop);
    return !load->failed;
}

/* ---- await ---- */

static bool view_any(void *ctx, const cJSON *item, void **ret_view)
{
    (void)ctx;
    (void)item;
    *ret_view = mem_alloc(1);
    return true;
}

static void on_change(void *ctx, const struct store_change *change)
{
    struct load *load = ctx;

    if (!change->old && load->done++ == 0)
        load->begin_ms = monotonic_ms();
    if (load->done == load->wanted)
        loop_stop(load->loop);
}

static void await_pods(struct load *load)
{
    load->watch = watch_new(load->kube, &(struct watch_options){.resource = &KUBE_PODS,
                                                                .ns = load->ns,
                                                                .view = view_any,
                                                                .view_free = mem_free,
                                                                .on_change = on_change,
                                                                .ctx = load});
    loop_run(load->loop);
    watch_free(load->watch);
}

/* ---- */

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static bool run(int argc, char **argv, struct load *load, struct err *err)
{
    struct identity identity = {0};
    bool ok = true;

    if (!identity_load(&(struct identity_options){.kubeconfig = argv[2], .env = no_env}, &identity, err))
        return false;
    load->loop = loop_new();
    load->kube = kube_new(load->loop, &identity, &(struct kube_options){.program = "api-load"}, err);
    if (!load->kube)
        return false;
    if (argc == 6)
        ok = create(load, argv[4], err);
    else
        await_pods(load);
    kube_free(load->kube);
    loop_free(load->loop);
    identity_release(&identity);
    return ok;
}

int main(int argc, char **argv)
{
    struct load load = {0};
    struct err err = {0};
    bool is_create = argc == 6 && strcmp(argv[1], "create") == 0;
    bool is_await = argc == 5 && strcmp(argv[1], "await") == 0;

    if ((!is_create && !is_await) || !parse_u32(argv[argc - 1], 1, 1000000, &load.wanted)) {
        (void)fputs("Usage: api-load create KUBECONFIG NAMESPACE FILE COUNT | api-load await KUBECONFIG "
                    "NAMESPACE COUNT\n",
                    stderr);
        return 2;
    }
    load.ns = argv[3];
    if (!run(argc, argv, &load, &err)) {
        (void)fprintf(stderr, "api-load: %s\n", err.msg);
        return 1;
    }
    report(&load);
    return 0;
}
