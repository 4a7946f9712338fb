/* Any command line, one word a line: either it is rejected with a sentence, or options and program come out;
 * the plan made of them has a program for each instance and no more. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "launcher/poprun/options/options.h"
#include "launcher/poprun/plan/plan.h"

#define MOST_INSTANCES 16u /* larger plans are only longer */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const char *no_variable(const char *name)
{
    (void)name;
    return NULL;
}

static void read_words(const uint8_t *bytes, size_t len, struct settings *settings, struct strv *problems)
{
    AUTO(mem) char *text = mem_strndup((const char *)bytes, len);
    AUTO(strv) struct strv words = {0};

    strv_push(&words, "poprun");
    for (char *rest = text, *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
        strv_push(&words, line);
    settings_read_words(settings, (int)words.count, strv_argv(&words), problems);
}

static uint32_t count_programs(const struct strv *argv)
{
    uint32_t count = 1;

    for (size_t i = 0; i < argv->count; i++)
        count += strcmp(argv->items[i], ":") == 0;
    return count;
}

static void make_plan(const struct poprun_options *options, const struct strv *program)
{
    AUTO(strv) struct strv hosts = {0};
    AUTO(plan) struct plan plan = {0};
    struct topology topology = {
        options->num_replicas, options->num_instances, options->ipus_per_replica, 0, NULL, &hosts};
    struct plan_input input = {.options = options,
                               .program = program,
                               .topology = &topology,
                               .mpirun = "mpirun",
                               .dialect = mpi_dialect_of("orterun"),
                               .env = no_variable};
    struct err err;

    assert(plan_make(&input, &plan, &err));
    assert(strv_has(program, ":") || count_programs(&plan.argv) == options->num_instances);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    AUTO(settings) struct settings settings = {0};
    AUTO(poprun_options) struct poprun_options options = {0};
    AUTO(strv) struct strv problems = {0};

    read_words(bytes, len, &settings, &problems);
    poprun_options_fill(&settings, &options, &problems);
    if (problems.count == 0)
        poprun_options_check(&options, &settings.program, no_variable, &problems);
    if (problems.count == 0 && options.num_instances <= MOST_INSTANCES)
        make_plan(&options, &settings.program);
    for (size_t i = 0; i < problems.count; i++)
        assert(*problems.items[i]);
    return 0;
}
