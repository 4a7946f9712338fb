/* sim: runs simulated worlds and prints how to run one again in which something was wrong. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "base/core/opts.h"
#include "base/io/log.h"
#include "world/world.h"

struct options {
    uint32_t seed, seeds, jobs, crash_at;
    bool calm, tamper, lost_controller, quota, one_namespace, crash_after, every_write;
    char *kind, *log;
};

#define AT(field) offsetof(struct options, field)

static const struct opt ROWS[] = {
    {.flag = "seed",
     .type = OPT_U32,
     .offset = AT(seed),
     .fallback = "1",
     .max = UINT32_MAX,
     .arg = "N",
     .help = "The first seed"},
    {.flag = "seeds",
     .type = OPT_U32,
     .offset = AT(seeds),
     .fallback = "1",
     .min = 1,
     .max = UINT32_MAX,
     .arg = "N",
     .help = "How many worlds to run, one seed after the other"},
    {.flag = "jobs",
     .type = OPT_U32,
     .offset = AT(jobs),
     .max = 100000,
     .arg = "N",
     .help = "Jobs in a world; 0: twenty, each of another kind"},
    {.flag = "kind",
     .type = OPT_STR,
     .offset = AT(kind),
     .arg = "NAME",
     .help = "All jobs are of this kind (tests/sim/kinds.c)"},
    {.flag = "calm",
     .type = OPT_FLAG,
     .offset = AT(calm),
     .help = "Nothing goes wrong; every fourth seed is so anyway"},
    {.flag = "tamper",
     .type = OPT_FLAG,
     .offset = AT(tamper),
     .help =
         "Partitions are also removed by somebody, lost by their controller, and fail with their hardware; "
         "every other seed is so anyway"},
    {.flag = "lost-controller",
     .type = OPT_FLAG,
     .offset = AT(lost_controller),
     .help =
         "One of the two V-IPU controllers falls silent for ever; in every eighth seed it does so anyway"},
    {.flag = "quota",
     .type = OPT_FLAG,
     .offset = AT(quota),
     .help = "A quota lets twelve pods be there at a time; in every fifth seed it does so anyway"},
    {.flag = "one-namespace",
     .type = OPT_FLAG,
     .offset = AT(one_namespace),
     .help = "The operators see the jobs of one namespace, and no nodes"},
    {.flag = "crash-at",
     .type = OPT_U32,
     .offset = AT(crash_at),
     .max = UINT32_MAX,
     .arg = "N",
     .help = "The operator dies at its n-th write, before it has left"},
    {.flag = "crash-after", .type = OPT_FLAG, .offset = AT(crash_after), .help = "...after it has left"},
    {.flag = "every-write",
     .type = OPT_FLAG,
     .offset = AT(every_write),
     .help = "The world again and again, with a crash before and after each of its writes"},
    {.flag = "log",
     .type = OPT_STR,
     .offset = AT(log),
     .fallback = "none",
     .arg = "LEVEL",
     .help = "What the operators log: none, or debug, info, warn, error"},
    {0},
};

static const struct opts_spec SPEC = {
    .program = "sim",
    .usage = "sim [options]",
    .about =
        "Runs the operator's own code on virtual time against an API server, nodes and V-IPU controllers in "
        "memory, with faults by the seed, and checks what must never happen.",
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
    if (w->crash_at)
        printf(" --crash-at %u%s", w->crash_at, w->crash_moment == CRASH_AFTER ? " --crash-after" : "");
    printf(" --log debug\n");
}

/* True when all was well; the number of writes in *ret_writes. */
static bool run_one(const struct options *o, const struct world_options *options, unsigned *ret_writes)
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
    world_free(world);
    return is_well;
}

static unsigned run_every_write(const struct options *o, struct world_options *options)
{
    unsigned writes, ignored, bad = !run_one(o, options, &writes);

    for (unsigned at = 1; at <= writes; at++) {
        options->crash_at = at;
        options->crash_moment = CRASH_BEFORE;
        bad += !run_one(o, options, &ignored);
        options->crash_moment = CRASH_AFTER;
        bad += !run_one(o, options, &ignored);
    }
    printf("%u writes, each with a crash before and after it: %u runs were wrong\n", writes, bad);
    return bad;
}

static unsigned run(const struct options *o)
{
    unsigned bad = 0, writes;

    for (uint32_t i = 0; i < o->seeds; i++) {
        struct world_options options = {
            .seed = o->seed + i,
            .jobs = o->jobs,
            .kind = o->kind,
            .is_tampered_with = o->tamper || (o->seed + i) % 2 == 1,
            .loses_controller = o->lost_controller || (!o->every_write && (o->seed + i) % 8 == 4),
            .has_quota = o->quota || (!o->every_write && !o->jobs && (o->seed + i) % 5 == 3),
            .has_one_namespace = o->one_namespace,
            .is_calm = o->calm || o->every_write || (o->seed + i) % 4 == 0,
            .crash_at = o->crash_at,
            .crash_moment = o->crash_after ? CRASH_AFTER : CRASH_BEFORE};

        bad += o->every_write ? run_every_write(o, &options) : !run_one(o, &options, &writes);
    }
    if (!o->every_write)
        printf("%u worlds, %u of them wrong\n", o->seeds, bad);
    return bad;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    AUTO(strv) struct strv problems = {0};
    AUTO(strv) struct strv words = {0};
    AUTO(str) struct str help = {0};
    enum log_level level = LOG_ERROR;
    unsigned bad = 0;

    switch (opts_parse(&SPEC, argc, argv, no_env, false, &o, &words, &problems)) {
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
