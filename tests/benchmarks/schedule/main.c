/* schedule-load: one workload on one machine under one policy, on virtual time. */
#include <stdio.h>
#include <string.h>

#include "base/options/opts.h"
#include "schedule/result.h"
#include "schedule/run_times.h"

#define MOST_TOLD 4000 /* jobs that forecasts are measured for */

struct options {
    uint32_t domains, jobs, seed, deadlines, load, sample;
    int workload, policy;
    bool print;
    char *swf;
};

static const char *const WORKLOADS[] = {"mix", "recurring", "lublin", NULL};
static struct workload (*const MODELS[])(const struct workload_settings *) = {
    workload_mix, workload_recurring, workload_lublin};
static const char *const POLICY_NAMES[] = {"strict", "bounded", "predicted", "easy", NULL};

#define AT(field) offsetof(struct options, field)

static const struct opt ROWS[] = {
    OPT_VALUE("workload", OPT_CHOICE, AT(workload), "NAME", "Model of the jobs", .fallback = "mix",
              .choices = WORKLOADS),
    OPT_VALUE("swf", OPT_STR, AT(swf), "FILE", "Trace in the Standard Workload Format, in place of a model"),
    OPT_VALUE("policy", OPT_CHOICE, AT(policy), "NAME", "Who starts", .fallback = "bounded",
              .choices = POLICY_NAMES),
    OPT_VALUE("domains", OPT_U32, AT(domains), "N",
              "IPU-Link domains of 64 IPUs; 0: as many as the trace's machine has", .max = 1024),
    OPT_VALUE("load", OPT_U32, AT(load), "PERCENT",
              "Work that arrives, by the machine's capacity; 0: as in the trace", .max = 200),
    OPT_VALUE("jobs", OPT_U32, AT(jobs), "N", "Jobs of a model", .fallback = "4000", .min = 10,
              .max = 1000000),
    OPT_VALUE("seed", OPT_U32, AT(seed), "N", "Seed of a model", .fallback = "1", .max = UINT32_MAX),
    OPT_VALUE("deadlines", OPT_U32, AT(deadlines), "PERCENT", "Jobs of a model that have a deadline",
              .fallback = "50", .max = 100),
    OPT_VALUE("sample", OPT_U32, AT(sample), "N",
              "Measure forecasts for one waiting job in N; 0: one in 5, of more than 20,000 jobs fewer",
              .max = UINT32_MAX),
    OPT_SWITCH("print", AT(print),
               "Print the jobs as a trace in the Standard Workload Format, and simulate nothing"),
    {0},
};

static const struct opts_spec SPEC = {
    .program = "schedule-load",
    .usage = "schedule-load --domains N --load PERCENT [options]\n"
             "       schedule-load --swf FILE [options]",
    .about = "Simulates one queue on virtual time and prints what was measured as one line of JSON.",
    .rows = ROWS,
};

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static bool work_load(const struct options *o, struct workload *ret, struct err *err)
{
    struct workload_settings s = {.domains = o->domains,
                                  .jobs = o->jobs,
                                  .seed = o->seed,
                                  .deadline_percent = o->deadlines,
                                  .load = o->load / 100.0};

    if (o->swf)
        return workload_read_swf(o->swf, &s, ret, err);
    if (!o->domains || !o->load)
        return err_set(err, ERR_INVALID, "--domains and --load must be 1 or more without --swf");
    *ret = MODELS[o->workload](&s);
    return true;
}

/* In strict order nearly everybody waits, and forecasts of thousands that wait take long. */
static uint32_t sample_of(const struct options *o, size_t jobs)
{
    uint32_t least = o->policy == STRICT ? 100 : 5, by_jobs = (uint32_t)(jobs / MOST_TOLD);

    return o->sample ? o->sample : by_jobs > least ? by_jobs : least;
}

static void simulate(const struct workload *work, const struct options *o)
{
    struct simulation simulation;

    simulation_init(&simulation, work, (enum policy)o->policy, sample_of(o, work->count));
    simulation.run_times = run_times_new();
    simulation_run(&simulation);
    result_print(&simulation);
    run_times_free(simulation.run_times);
    simulation_release(&simulation);
}

int main(int argc, char **argv)
{
    struct options o = {0};
    AUTO(strv) struct strv problems = {0};
    AUTO(workload) struct workload work = {0};
    struct err err;
    enum opts_result parsed = opts_parse(&SPEC, argc, argv, no_env, false, &o, NULL, &problems);

    if (parsed == OPTS_HELP) {
        AUTO(str) struct str text = {0};

        opts_help(&SPEC, &text);
        (void)puts(str_text(&text));
        return 0;
    }
    for (size_t i = 0; i < problems.count; i++)
        (void)fprintf(stderr, "schedule-load: %s\n", problems.items[i]);
    if (parsed != OPTS_RUN)
        return 2;
    if (!work_load(&o, &work, &err)) {
        (void)fprintf(stderr, "schedule-load: %s\n", err.msg);
        opts_release(&SPEC, &o);
        return 1;
    }
    if (o.print)
        workload_print_swf(&work);
    else
        simulate(&work, &o);
    opts_release(&SPEC, &o);
    return 0;
}
