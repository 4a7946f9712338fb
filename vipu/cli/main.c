/* vipu: the command line of a V-IPU controller. Wiring only: files, environment, output, exit status. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "vipu/cli/commands.h"
#include "vipu/cli/hcl.h"
#include "vipu/cli/options.h"

#define EXIT_USAGE 2

static const char *environment(const char *name)
{
    return getenv(name);
}

/* The file that --config names must be there; the default one may be missing. */
static bool read_file(const char *named, struct str *ret, struct strv *problems)
{
    struct err err;

    if (file_read(named ? named : OPTIONS_DEFAULT_FILE, HCL_MAX_BYTES, ret, &err))
        return true;
    if (named || err.kind != ERR_NOT_FOUND)
        strv_push(problems, err.msg);
    return false;
}

static enum opts_result parse(int argc, char **argv, struct options *options, struct strv *words,
                              struct strv *problems)
{
    AUTO(strv) struct strv ignored = {0};
    AUTO(str) struct str file = {0};
    struct options first = {0};
    enum opts_result result = options_parse(argc, argv, environment, NULL, NULL, &first, &ignored, problems);
    const char *name = first.config ? first.config : OPTIONS_DEFAULT_FILE;

    if (result == OPTS_RUN) {
        bool has_file = read_file(first.config, &file, problems);

        result =
            options_parse(argc, argv, environment, has_file ? &file : NULL, name, options, words, problems);
    }
    opts_release(&options_spec, &first);
    return problems->count ? OPTS_BAD : result;
}

static int complain(const struct strv *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        (void)fprintf(stderr, "vipu: %s\n", problems->items[i]);
    (void)fputs("vipu --help tells what there is\n", stderr);
    return EXIT_USAGE;
}

static int print(const struct str *out)
{
    if (fputs(str_text(out), stdout) >= 0 && fflush(stdout) == 0)
        return EXIT_SUCCESS;
    (void)fprintf(stderr, "vipu: the output could not be written: %s\n", strerror(errno));
    return EXIT_FAILURE;
}

static int run(const struct options *options, const struct strv *words)
{
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str out = {.max = SIZE_MAX / 2};
    AUTO(str) struct str failure = {0};
    struct command_context context = {.options = options,
                                      .home = environment("HOME"),
                                      .out = &out,
                                      .problems = &problems,
                                      .failure = &failure};
    const struct command *command = options->server_version ? NULL : command_find(words, &problems);
    struct err err;
    bool ok;

    if (problems.count)
        return complain(&problems);
    context.id = command && command->needs_id ? words->items[2] : NULL;
    context.session =
        session_new(&(struct vipu_endpoint){.host = options->api_host, .port = options->api_port},
                    "vipu/" IPU_OPERATOR_VERSION, options->api_timeout_s);
    ok = command ? command->fn(&context, &err) : command_server_version(&context, &err);
    session_free(context.session);
    if (problems.count)
        return complain(&problems);
    if (!ok) {
        (void)fprintf(stderr, "%s\n", failure.len ? str_text(&failure) : err.msg);
        return EXIT_FAILURE;
    }
    return print(&out);
}

int main(int argc, char **argv)
{
    AUTO(strv) struct strv words = {0};
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str help = {0};
    struct options options = {0};
    int status = EXIT_SUCCESS;

    switch (parse(argc, argv, &options, &words, &problems)) {
    case OPTS_RUN:
        status = run(&options, &words);
        break;
    case OPTS_HELP:
        opts_help(&options_spec, &help);
        status = print(&help);
        break;
    case OPTS_VERSION:
        (void)puts("vipu " IPU_OPERATOR_VERSION);
        break;
    case OPTS_BAD:
        status = complain(&problems);
        break;
    }
    opts_release(&options_spec, &options);
    return status;
}
