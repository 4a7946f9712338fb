#include "vipu/tools/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/options/opts_completion.h"
#include "base/options/opts_man.h"

int program_print(const struct program *program, const struct str *out)
{
    if (fputs(str_text(out), stdout) >= 0 && fflush(stdout) == 0)
        return EXIT_SUCCESS;
    if (errno != EPIPE) /* as `gc-info -l | head -1`: the reader has enough */
        (void)fprintf(stderr, "%s: cannot write the output: %s\n", program->spec->program, strerror(errno));
    return EXIT_FAILURE;
}

int program_fail(const struct program *program, const char *sentence)
{
    (void)fprintf(stderr, "%s: %s\n", program->spec->program, sentence);
    return EXIT_FAILURE;
}

int program_complain(const struct program *program, const struct strv *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        (void)program_fail(program, problems->items[i]);
    (void)fprintf(stderr, "Run '%s --help' for usage.\n", program->spec->program);
    return PROGRAM_USAGE;
}

char *program_home_folder(const struct program *program)
{
    const char *home = program->env("HOME");

    return mem_printf("%s/.ipuof.conf.d", home ? home : "");
}

const char *program_lock_folder(const struct program *program, const char *run_dir)
{
    return run_dir ? run_dir : attach_folder(program->env);
}

static int print_man(const struct program *program)
{
    const struct opts_man man = {.summary = program->summary, .version = IPU_OPERATOR_VERSION};
    AUTO(str) struct str page = {0};

    opts_man(program->spec, &man, &page);
    return program_print(program, &page);
}

static int print_help(const struct program *program)
{
    AUTO(str) struct str help = {0};

    opts_help(program->spec, &help);
    return program_print(program, &help);
}

static int print_version(const struct program *program)
{
    AUTO(str) struct str line = {0};

    str_addf(&line, "%s " IPU_OPERATOR_VERSION "\n", program->spec->program);
    return program_print(program, &line);
}

static int act(const struct program *program, enum opts_result result, const struct strv *problems,
               const void *options)
{
    switch (problems->count ? OPTS_BAD : result) {
    case OPTS_RUN:
        return program->run(program, options);
    case OPTS_HELP:
        return print_help(program);
    case OPTS_VERSION:
        return print_version(program);
    case OPTS_BAD:
        break;
    }
    return program_complain(program, problems);
}

int program_main(const struct program *program, int argc, char **argv, void *options)
{
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str completion = {0};
    enum opts_result result;
    int status;

    /* Hidden: for the build only. */
    if (argc > 1 && str_eq(argv[1], "__man"))
        return print_man(program);
    if (opts_completion_answer(program->spec, NULL, argc, argv, &completion))
        return program_print(program, &completion);
    result = opts_parse(program->spec, argc, argv, program->env, false, options, NULL, &problems);
    status = act(program, result, &problems, options);
    opts_release(program->spec, options);
    return status;
}
