/* sim: runs simulated worlds and prints how to run one again in which something was wrong. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "base/options/opts.h"
#include "base/io/log.h"
#include "world/world.h"

struct options {
    uint32_t seed, seeds, jobs, crash_at;
    bool calm, tamper, lost_controller, quota, ipu_quota, one_namespace, deadlines, preemption, own_places,
        crash_after, every_write;
    char *kind, *log;
};

/* The largest job is as large. */
#define IPU_QUOTA 32
#define INSTANCE_QUOTA 3

#define AT(field) offsetof(struct options, field)

static const struct opt ROWS[] = {
    OPT_VALUE("seed", OPT_U32, AT(seed), "N", "First seed", .fallback = "1", .max = UINT32_MAX),
    OPT_VALUE("seeds", OPT_U32, AT(seeds), "N", "Number of worlds to run, one seed after the other",
              .fallback = "1", .min = 1, .max = UINT32_MAX),
    OPT_VALUE("jobs", OPT_U32, AT(jobs), "N", "Jobs in a world; 0: twenty of different kinds", .max = 100000),
    OPT_VALUE("kind", OPT_STR, AT(kind), "NAME", "Kind of all jobs (tests/sim/world/kinds.c)"),
    OPT_SWITCH("calm", AT(calm), "Inject no faults (default for every fourth seed)"),
    OPT_SWITCH(
        "tamper", AT(tamper),
        "Remove partitions behind the operator's back, and let controllers lose them and hardware fail "
        "(default for every other seed)"),
    OPT_SWITCH("lost-controller", AT(lost_controller),
               "One of the two V-IPU controllers stops responding (default for every eighth seed)"),
    OPT_SWITCH("quota", AT(quota), "A quota allows twelve pods at a time (default for every fifth seed)"),
    OPT_SWITCH("ipu-quota", AT(ipu_quota),
               "The namespace may hold 32 IPUs at a time (default for every seventh seed); with odd seeds, "
               "three of its instances may be in the queue"),
    OPT_SWITCH("one-namespace", AT(one_namespace), "The operators watch one namespace, and no nodes"),
    OPT_SWITCH(
        "deadlines", AT(deadlines),
        "With --kind: jobs of different sizes, most of them with a deadline, so that jobs that wait are "
        "promised times"),
    OPT_SWITCH("preemption", AT(preemption), "Most jobs let those of higher priority have their IPUs"),
    OPT_SWITCH("own-places", AT(own_places),
               "The V-IPU controllers choose the IPUs of partitions by themselves"),
    OPT_VALUE("crash-at", OPT_U32, AT(crash_at), "N", "Crash the operator before its Nth write is sent",
              .max = UINT32_MAX),
    OPT_SWITCH("crash-after", AT(crash_after), "With --crash-at: crash after the write is sent"),
    OPT_SWITCH("every-write", AT(every_write),
               "Repeat the world with a crash before and after each of its writes"),
    OPT_VALUE("log", OPT_STR, AT(log), "LEVEL",
              "Log level of the operators: none, debug, info, warn or error", .fallback = "none"),
    {0},
};

static const struct opts_spec SPEC = {
    .program = "sim",
    .usage = "sim [options]",
    .about =
        "Runs the operator's own code on virtual time against an API server, nodes and V-IPU controllers in "
        "memory, with faults and the queue's policy by the seed, and checks what must never happen.",
    .rows = ROWS,
};

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static void print_replay(const struct options *o, const struct world_options *w)
{
    printf("  replay: build/release/tests/sim/sim --seed %llu", (unsigned long long)w->seed);
    if (o->jobs)
        printf(" --jobs %u", o->jobs);
    if (o->kind)
        printf(" --kind %s", o->kind);
    if (w->is_calm)
        printf(" --calm");
    if (o->tamper)
        printf(" --tamper");
    if (o->lost_controller)
        printf(" --lost-controller");
    if (o->quota)
        printf(" --quota");
    if (o->one_namespace)
        printf(" --one-namespace");
    if (o->deadlines)
        printf(" --deadlines");
    if (o->preemption)
        printf(" --preemption");
    if (o->own_places)
        printf(" --own-places");
    if (w->crash_at)
        printf(" --crash-at %u%s", w->crash_at, w->crash_moment == CRASH_AFTER ? " --crash-after" : "");
    printf(" --log debug\n");
}

/* True when all was well; the number of writes in *ret_writes, and that of preemptions added. */
static bool run_one(const struct options *o, const struct world_options *options, unsigned *ret_writes,
                    unsigned *preemptions)
{
    struct world *world = world_new(options);
    bool is_well;

    world_run(world);
    is_well = world->broken == NULL;
    if (!is_well) {
        printf("seed %llu: %s\n", (unsigned long long)options->seed, world->broken);
        print_replay(o, options);
        (void)fflush(stdout);
    }
    *ret_writes = world->writes;
    *preemptions += world->preemptions;
    world_free(world);
    return is_well;
}

static unsigned run_every_write(const struct options *o, struct world_options *options, unsigned *preemptions)
{
    unsigned writes, ignored, bad = !run_one(o, options, &writes, preemptions);

    for (unsigned at = 1; at <= writes; at++) {
        options->crash_at = at;
        options->crash_moment = CRASH_BEFORE;
        bad += !run_one(o, options, &ignored, preemptions);
        options->crash_moment = CRASH_AFTER;
        bad += !run_one(o, options, &ignored, preemptions);
    }
    printf("%u writes, each with a crash before and after it: %u runs were wrong\n", writes, bad);
    return bad;
}

static unsigned run(const struct options *o)
{
    unsigned bad = 0, writes, preemptions = 0;

    for (uint32_t i = 0; i < o->seeds; i++) {
        bool has_ipu_quota = o->ipu_quota || (!o->every_write && !o->jobs && (o->seed + i) % 7 == 6);
        struct world_options options = {
            .seed = o->seed + i,
            .jobs = o->jobs,
            .kind = o->kind,
            .is_tampered_with = o->tamper || (o->seed + i) % 2 == 1,
            .loses_controller = o->lost_controller || (!o->every_write && (o->seed + i) % 8 == 4),
            .has_quota = o->quota || (!o->every_write && !o->jobs && (o->seed + i) % 5 == 3),
            .ipu_quota = has_ipu_quota ? IPU_QUOTA : 0,
            .instance_quota = has_ipu_quota && (o->seed + i) % 2 == 1 ? INSTANCE_QUOTA : 0,
            .has_one_namespace = o->one_namespace,
            .has_deadlines = o->deadlines,
            .has_preemption = o->preemption,
            .has_own_places = o->own_places,
            .policy = (enum forecast_policy)((o->seed + i) % (FORECAST_PREDICTED + 1)),
            .is_calm = o->calm || o->every_write || (o->seed + i) % 4 == 0,
            .crash_at = o->crash_at,
            .crash_moment = o->crash_after ? CRASH_AFTER : CRASH_BEFORE};

        bad += o->every_write ? run_every_write(o, &options, &preemptions)
                              : !run_one(o, &options, &writes, &preemptions);
    }
    if (!o->every_write)
        printf("%u worlds, %u of them wrong\n", o->seeds, bad);
    if (o->preemption)
        printf("%u preemptions\n", preemptions);
    return bad || (o->preemption && !preemptions);
}

int main(int argc, char **argv)
{
    struct options o = {0};
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str help = {0};
    enum log_level level = LOG_ERROR;
    unsigned bad = 0;

    switch (opts_parse(&SPEC, argc, argv, no_env, false, &o, NULL, &problems)) {
    case OPTS_RUN:
        break;
    case OPTS_HELP:
        opts_help(&SPEC, &help);
        return fputs(str_text(&help), stdout) < 0;
    case OPTS_VERSION:
        return 0;
    case OPTS_BAD:
        for (size_t i = 0; i < problems.count; i++)
            (void)fprintf(stderr, "sim: %s\n", problems.items[i]);
        return 2;
    }
    if (log_parse_level(o.log, &level))
        log_setup(level, false);
    else
        log_setup(LOG_ERROR + 1, false);
    bad = run(&o);
    opts_release(&SPEC, &o);
    return bad > 0;
}
