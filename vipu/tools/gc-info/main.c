/* gc-info: the IPUs of this program's partition. Options, output and exit status only. */
#include "vipu/tools/gc-info/main.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "vipu/tools/gc-info/options.h"
#include "vipu/tools/program.h"

static int answer(const struct program *program, const struct options *options, const struct query *query)
{
    AUTO(mem) char *home = program_home_folder();
    const char *const folders[] = {home, SOURCE_SYSTEM_FOLDER, NULL};
    const struct discovery_wish wish = {.user_agent = "gc-info/" IPU_OPERATOR_VERSION,
                                        .folders = folders,
                                        .all = query->all_partitions,
                                        .attributes = query_needs_attributes(query->kind)};
    AUTO(discovery) struct discovery found = {0};
    AUTO(str) struct str out = {.max = SIZE_MAX / 2};
    const struct gcd_view *active;
    struct err err;
    bool ok;

    if (!discover(&options->source, &wish, &found, &err))
        return program_fail(program, err.msg);
    ok = query_answer(query, &found, program_lock_folder(options->run_dir), &out, &err);
    if (program_print(program, &out) != EXIT_SUCCESS)
        return EXIT_FAILURE;
    if (ok)
        return EXIT_SUCCESS;
    active = discovery_active(&found); /* its problems may be longer than an error can be */
    return program_fail(program, active && active->trouble ? active->trouble : err.msg);
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
    const struct program program = {
        .spec = &gc_info_spec, .summary = "show information about the IPUs of a partition", .run = run};
    struct options options = {0};

    return program_main(&program, argc, argv, &options);
}
