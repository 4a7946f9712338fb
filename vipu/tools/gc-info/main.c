/* gc-info: what the IPUs of this program's partition are. Wiring only: environment, output, exit status. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "vipu/tools/attach.h"
#include "vipu/tools/gc-info/options.h"

#define EXIT_USAGE 2

static const char *environment(const char *name)
{
    return getenv(name);
}

static int complain(const struct strv *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        (void)fprintf(stderr, "gc-info: %s\n", problems->items[i]);
    (void)fputs("gc-info --help tells what there is\n", stderr);
    return EXIT_USAGE;
}

static int print(const struct str *out)
{
    if (fputs(str_text(out), stdout) >= 0 && fflush(stdout) == 0)
        return EXIT_SUCCESS;
    (void)fprintf(stderr, "gc-info: the output could not be written: %s\n", strerror(errno));
    return EXIT_FAILURE;
}

static int fail(const struct err *err)
{
    (void)fprintf(stderr, "gc-info: %s\n", err->msg);
    return EXIT_FAILURE;
}

static int run(const struct options *options)
{
    AUTO(mem) char *home = mem_printf("%s/.ipuof.conf.d", environment("HOME") ? environment("HOME") : "");
    const char *const folders[] = {home, SOURCE_SYSTEM_FOLDER, NULL};
    AUTO(discovery) struct discovery found = {0};
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str out = {.max = SIZE_MAX / 2};
    struct query query;
    struct err err;
    bool ok;

    if (!options_query(options, &query, &problems))
        return complain(&problems);
    struct discovery_wish wish = {.user_agent = "gc-info/" IPU_OPERATOR_VERSION,
                                  .folders = folders,
                                  .all = query.all_partitions,
                                  .attributes = query_needs_attributes(query.kind)};
    if (!discover(&options->source, &wish, &found, &err))
        return fail(&err);
    ok = query_answer(&query, &found, options->run_dir ? options->run_dir : attach_folder(environment), &out,
                      &err);
    if (print(&out) != EXIT_SUCCESS)
        return EXIT_FAILURE;
    return ok ? EXIT_SUCCESS : fail(&err);
}

int main(int argc, char **argv)
{
    AUTO(strv) struct strv words = {0};
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str help = {0};
    struct options options = {0};
    enum opts_result result =
        opts_parse(&options_spec, argc, argv, environment, false, &options, &words, &problems);
    int status = EXIT_SUCCESS;

    for (size_t i = 0; i < words.count; i++)
        strv_pushf(&problems, "\"%.200s\" is one word too many", words.items[i]);
    switch (problems.count ? OPTS_BAD : result) {
    case OPTS_RUN:
        status = run(&options);
        break;
    case OPTS_HELP:
        opts_help(&options_spec, &help);
        status = print(&help);
        break;
    case OPTS_VERSION:
        (void)puts("gc-info " IPU_OPERATOR_VERSION);
        break;
    case OPTS_BAD:
        status = complain(&problems);
        break;
    }
    opts_release(&options_spec, &options);
    return status;
}
