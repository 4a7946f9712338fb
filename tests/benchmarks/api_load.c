/* The other side of the benchmarks: puts load on an API server as bare as it gets, and tells when things have
 * happened.
 *
 *     api-load create KUBECONFIG NAMESPACE FILE COUNT    creates COUNT objects from a JSON file, "%u" in it
 *                                                        being the number, as many in flight as the operator
 *     api-load await KUBECONFIG NAMESPACE KIND COUNT     waits until so many pods or ipujobs are there and
 * have ended well api-load react KUBECONFIG NAMESPACE FILE COUNT     creates COUNT jobs, each when the one
 * before it has been answered, and tells how long after the news of it the news of the operator's first write
 * came
 *
 * All print one JSON line; times are CLOCK_MONOTONIC, in milliseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "base/io/loop.h"
#include "operator/kube/client/client.h"
#include "operator/kube/auth/config_loader.h"
#include "operator/kube/watch/watch.h"

#define FILE_MAX_BYTES ((size_t)1024 * 1024)

struct load {
    struct loop *loop;
    struct kube *kube;
    const char *ns;
    const struct kube_resource *resource;
    const char *pattern;
    uint32_t wanted, sent, done;
    uint32_t ended;
    kube_done_fn on_created;
    int64_t begin_ms, made_ms, shown_us;
    int64_t *reactions_us;
    struct watch *watch;
    bool failed;
};

static int64_t monotonic_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t monotonic_ms(void)
{
    return monotonic_us() / 1000;
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
              load->on_created, load);
}

static bool create(struct load *load)
{
    load->on_created = on_created;
    load->begin_ms = monotonic_ms();
    for (unsigned i = 0; i < KUBE_WINDOW; i++)
        create_next(load);
    loop_run(load->loop);
    if (!load->failed)
        (void)printf("{\"count\":%u,\"begin_ms\":%lld,\"end_ms\":%lld}\n", load->done,
                     (long long)load->begin_ms, (long long)monotonic_ms());
    return !load->failed;
}

/* ---- await ---- */

/* Of an object only this: has it ended well? */
static bool view_end(void *ctx, const cJSON *item, void **ret_view)
{
    bool *ended = mem_alloc(sizeof(*ended));

    (void)ctx;
    *ended = str_eq(json_str(item, "status/phase", ""), "Succeeded") ||
             str_eq(json_str(item, "status/launcherStatus", ""), "Completed");
    *ret_view = ended;
    return true;
}

static bool has_ended(const void *view)
{
    return view && *(const bool *)view;
}

static void on_change(void *ctx, const struct store_change *change)
{
    struct load *load = ctx;

    if (!change->old && load->done++ == 0)
        load->begin_ms = monotonic_ms();
    if (!change->old && load->done == load->wanted)
        load->made_ms = monotonic_ms();
    load->ended += has_ended(change->new) && !has_ended(change->old);
    if (load->done >= load->wanted && load->ended >= load->wanted)
        loop_stop(load->loop);
}

static void await(struct load *load)
{
    load->watch = watch_new(load->kube, &(struct watch_options){.resource = load->resource,
                                                                .ns = load->ns,
                                                                .view = view_end,
                                                                .view_free = mem_free,
                                                                .on_change = on_change,
                                                                .ctx = load});
    loop_run(load->loop);
    watch_free(load->watch);
}

/* ---- react ---- */

static void on_reaction(void *ctx, const struct store_change *change)
{
    struct load *load = ctx;

    if (!change->old) {
        load->shown_us = monotonic_us();
    } else if (load->shown_us) { /* the first change of the latest job is the operator's */
        load->reactions_us[load->done++] = monotonic_us() - load->shown_us;
        load->shown_us = 0;
        if (load->done == load->wanted)
            loop_stop(load->loop);
        else
            create_next(load);
    }
}

static void on_listed(void *ctx)
{
    create_next(ctx);
}

static void on_probe_created(void *ctx, struct kube_response *res)
{
    struct load *load = ctx;

    if (res->err.kind == ERR_NONE)
        return;
    (void)fprintf(stderr, "api-load: %s\n", res->message);
    load->failed = true;
    loop_stop(load->loop);
}

static int by_size(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

static bool react(struct load *load)
{
    load->on_created = on_probe_created;
    load->reactions_us = mem_alloc(load->wanted * sizeof(*load->reactions_us));
    load->watch = watch_new(load->kube, &(struct watch_options){.resource = load->resource,
                                                                .ns = load->ns,
                                                                .view = view_end,
                                                                .view_free = mem_free,
                                                                .on_change = on_reaction,
                                                                .on_synced = on_listed,
                                                                .ctx = load});
    loop_run(load->loop);
    watch_free(load->watch);
    qsort(load->reactions_us, load->done, sizeof(*load->reactions_us), by_size);
    if (!load->failed)
        (void)printf("{\"count\":%u,\"p50_us\":%lld,\"p99_us\":%lld}\n", load->done,
                     (long long)load->reactions_us[load->done / 2],
                     (long long)load->reactions_us[load->done * 99 / 100]);
    mem_free(load->reactions_us);
    return !load->failed;
}

/* ---- */

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static bool perform(const char *verb, const char *what, struct load *load, struct err *err)
{
    AUTO(str) struct str pattern = {0};
    AUTO(json) cJSON *body = NULL;

    if (str_eq(verb, "await")) {
        load->resource = str_eq(what, "ipujobs") ? &KUBE_IPUJOBS : &KUBE_PODS;
        await(load);
        (void)printf("{\"count\":%u,\"begin_ms\":%lld,\"made_ms\":%lld,\"end_ms\":%lld}\n", load->done,
                     (long long)load->begin_ms, (long long)load->made_ms, (long long)monotonic_ms());
        return true;
    }
    if (!file_read(what, FILE_MAX_BYTES, &pattern, err))
        return false;
    load->pattern = str_text(&pattern);
    body = json_parse(str_slice(&pattern), err);
    if (!body)
        return false;
    load->resource = str_eq(json_str(body, "kind", ""), "IPUJob") ? &KUBE_IPUJOBS : &KUBE_PODS;
    if (str_eq(verb, "create") ? create(load) : react(load))
        return true;
    return err_set(err, ERR_IO, "the API server rejected");
}

static bool run(char **argv, struct load *load, struct err *err)
{
    struct client_config identity = {0};
    bool ok;

    if (!client_config_load(&(struct client_config_options){.kubeconfig = argv[2], .env = no_env}, &identity,
                            err))
        return false;
    load->loop = loop_new();
    load->kube = kube_new(load->loop, &identity, &(struct kube_options){.program = "api-load"}, err);
    if (!load->kube)
        return false;
    ok = perform(argv[1], argv[4], load, err);
    kube_free(load->kube);
    loop_free(load->loop);
    client_config_release(&identity);
    return ok;
}

static bool is_verb(const char *word)
{
    return str_eq(word, "create") || str_eq(word, "await") || str_eq(word, "react");
}

int main(int argc, char **argv)
{
    struct load load = {0};
    struct err err = {0};

    if (argc != 6 || !is_verb(argv[1]) || !parse_u32(argv[5], 1, 1000000, &load.wanted)) {
        (void)fputs("Usage: api-load create|react KUBECONFIG NAMESPACE FILE COUNT\n"
                    "       api-load await KUBECONFIG NAMESPACE pods|ipujobs COUNT\n",
                    stderr);
        return 2;
    }
    load.ns = argv[3];
    if (!run(argv, &load, &err)) {
        (void)fprintf(stderr, "api-load: %s\n", err.msg);
        return 1;
    }
    return 0;
}
