/* gc-info: the IPUs of this program's partition. Options, output and exit status only. */
#include "vipu/tools/gc-info/main.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "vipu/tools/gc-info/options.h"
#include "vipu/tools/program.h"

static const char *environment(const char *name)
{
    return getenv(name);
}

/* The problems of a partition may be longer than an error can be. */
static int fail(const struct program *program, const struct discovery *found, const struct err *err)
{
    const struct gcd_view *active = discovery_active(found);

    return program_fail(program, active && active->trouble ? active->trouble : err->msg);
}

static int answer(const struct program *program, const struct options *options, const struct query *query)
{
    AUTO(mem) char *home = program_home_folder(program);
    const char *const folders[] = {home, SOURCE_SYSTEM_FOLDER, NULL};
    const struct discovery_options search = {.user_agent = "gc-info/" IPU_OPERATOR_VERSION,
                                             .folders = folders,
                                             .all = query->all_partitions,
                                             .attributes = query_needs_attributes(query->kind)};
    AUTO(discovery) struct discovery found = {0};
    AUTO(str) struct str out = {.max = SIZE_MAX / 2};
    struct err err;
    bool ok;

    if (!discover(&options->source, &search, &found, &err))
        return program_fail(program, err.msg);
    ok = query_answer(query, &found, program_lock_folder(program, options->run_dir), &out, &err);
    if (program_print(program, &out) != EXIT_SUCCESS)
        return EXIT_FAILURE;
    return ok ? EXIT_SUCCESS : fail(program, &found, &err);
}

static int run(const struct program *program, const void *parsed)
{
    const struct options *options = parsed;
    AUTO(strv) struct strv problems = {0};
    struct query query;

    if (!options_query(options, &query, &problems))
        return program_complain(program, &problems);
    return answer(program, options, &query);
}

int gc_info_main(int argc, char **argv)
{
    const struct program program = {.spec = &gc_info_spec,
                                    .summary = "show information about the IPUs of a partition",
                                    .env = environment,
                                    .run = run};
    struct options options = {0};

    return program_main(&program, argc, argv, &options);
}
