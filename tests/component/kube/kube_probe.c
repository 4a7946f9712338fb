#include <signal.h>
#include <stdio.h>

#include "base/options/opts.h"
#include "base/io/log.h"
#include "operator/kube/auth/config_loader.h"
#include "probe.h"

static const struct opt ROWS[] = {
    OPT_VALUE("kubeconfig", OPT_STR, offsetof(struct probe_options, kubeconfig), "FILE",
              "where the API server is"),
    OPT_VALUE("namespace", OPT_STR, offsetof(struct probe_options, ns), "NAME", "all when it is left out",
              .letter = 'n'),
    OPT_VALUE("selector", OPT_STR, offsetof(struct probe_options, selector), "LABELS", "of a watch"),
    OPT_VALUE("body", OPT_STR, offsetof(struct probe_options, body), "JSON", "of a request"),
    OPT_VALUE("type", OPT_STR, offsetof(struct probe_options, type), "TYPE", "content type of the body"),
    OPT_VALUE("count", OPT_U32, offsetof(struct probe_options, count), "N", "how many", .fallback = "1",
              .min = 1, .max = 1000000),
    OPT_VALUE("silence-ms", OPT_U32, offsetof(struct probe_options, idle_timeout_ms), "MS", "of a watch",
              .fallback = "0", .max = 1000000),
    OPT_VALUE("timeout-ms", OPT_U32, offsetof(struct probe_options, timeout_ms), "MS", "of a request",
              .fallback = "0", .max = 1000000),
    OPT_SWITCH("retry-post", offsetof(struct probe_options, retry_post), "the name is deterministic"),
    OPT_SWITCH("no-lease", offsetof(struct probe_options, no_lease), "the write gate is closed"),
    OPT_SWITCH("quiet", offsetof(struct probe_options, quiet), "do not print changes"),
    OPT_SWITCH("debug", offsetof(struct probe_options, debug), "log everything"),
    {0},
};

static const struct opts_spec SPEC = {
    .program = "kube_probe",
    .usage = "kube_probe [options] send METHOD RESOURCE [NAME [SUB]]\n"
             "       kube_probe [options] create RESOURCE PREFIX\n"
             "       kube_probe [options] watch RESOURCE\n"
             "       kube_probe [options] lease NAME\n"
             "       kube_probe [options] event NAME REASON NOTE",
    .about = "The operator's Kubernetes client as a program, for tests.",
    .rows = ROWS,
};

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

const struct kube_resource *probe_resource(const char *plural)
{
    static const struct kube_resource *const known[] = {&KUBE_PODS,    &KUBE_CONFIGMAPS, &KUBE_NODES,
                                                        &KUBE_LEASES,  &KUBE_EVENTS,     &KUBE_IPUJOBS,
                                                        &KUBE_SECRETS, &KUBE_NAMESPACES};

    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (str_eq(known[i]->plural, plural))
            return known[i];
    return NULL;
}

void probe_print_counters(const struct probe *probe)
{
    const struct kube_counter *rows;
    size_t count = kube_counters(probe->kube, &rows);

    for (size_t i = 0; i < count; i++)
        printf("sent %s %s %llu failed %llu\n", rows[i].method, rows[i].resource,
               (unsigned long long)rows[i].sent, (unsigned long long)rows[i].failed);
}

static bool closed(void *ctx)
{
    (void)ctx;
    return false;
}

static bool run_verb(struct probe *probe, const char *verb)
{
    static const struct {
        const char *verb;
        size_t words; /* at least */
        void (*run)(struct probe *probe);
    } verbs[] = {
        {"send", 2, probe_send},   {"create", 2, probe_create}, {"watch", 1, probe_watch},
        {"lease", 1, probe_lease}, {"event", 3, probe_event},
    };

    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        if (!str_eq(verbs[i].verb, verb) || probe->words->count < verbs[i].words)
            continue;
        verbs[i].run(probe);
        return true;
    }
    return false;
}

static void on_term(void *ctx, int signum)
{
    (void)signum;
    loop_stop(ctx);
}

static int run(const struct probe_options *options, const char *verb, const struct strv *words)
{
    struct client_config identity;
    struct err err = {0};
    struct probe probe = {.options = options, .words = words, .loop = loop_new()};
    bool good;

    loop_on_signal(probe.loop, SIGTERM, on_term, probe.loop);
    if (!client_config_load(&(struct client_config_options){.kubeconfig = options->kubeconfig, .env = no_env},
                            &identity, &err)) {
        printf("identity: %s\n", err.msg);
        loop_free(probe.loop);
        return 1;
    }
    probe.kube = kube_new(probe.loop, &identity, &(struct kube_options){.program = "kube_probe"}, &err);
    if (probe.kube != NULL && options->no_lease)
        kube_set_write_gate(probe.kube, closed, NULL);
    good = probe.kube != NULL && run_verb(&probe, verb);
    if (!good)
        printf("nothing done: %s\n", err.msg);
    kube_free(probe.kube);
    client_config_release(&identity);
    loop_free(probe.loop);
    return good ? 0 : 2;
}

int main(int argc, char **argv)
{
    struct probe_options options = {0};
    struct strv words = {0}, problems = {0}, rest = {0};
    int status = 2;

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (opts_parse(&SPEC, argc, argv, no_env, false, &options, &words, &problems) == OPTS_RUN &&
        words.count > 0) {
        log_setup(options.debug ? LOG_DEBUG : LOG_INFO, false);
        for (size_t i = 1; i < words.count; i++)
            strv_push(&rest, words.items[i]);
        status = run(&options, words.items[0], &rest);
    }
    for (size_t i = 0; i < problems.count; i++)
        printf("%s\n", problems.items[i]);
    opts_release(&SPEC, &options);
    strv_release(&words);
    strv_release(&rest);
    strv_release(&problems);
    return status;
}
