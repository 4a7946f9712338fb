/* A command line of vipu, words separated by newlines: parsed, checked, turned into a request, and completed.
 * What is rejected is rejected with a reason. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "vipu/cli/args/completion.h"
#include "vipu/cli/commands/requirements.h"

#define MAX_WORDS 64

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static void check(int argc, char **argv)
{
    AUTO(strv) struct strv words = {0}, problems = {0};
    AUTO(mem) struct vipu_ipu *ipus = NULL;
    struct options options = {0};
    struct vipu_requirements requirements;
    const struct command *command;
    int64_t gcd;

    if (options_parse(argc, argv, no_env, NULL, NULL, &options, &words, &problems) == OPTS_BAD)
        assert(problems.count);
    command = grammar_find(&words, &problems);
    if (command)
        options_check(&options, command, &problems);
    else
        assert(problems.count);
    if (requirements_of(&options, "p", &requirements, &ipus, &problems))
        assert(requirements.size && (!requirements.ipu_count || requirements.ipu_count == requirements.size));
    if (requirements_gcd(&options, &gcd, &problems))
        assert(gcd >= -1);
    opts_release(&options_spec, &options);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    AUTO(completion) struct completion completion = {0};
    AUTO(strv) struct strv words = {0};
    const char *at = (const char *)bytes, *end = at + len;

    strv_push(&words, "vipu");
    while (at < end && words.count < MAX_WORDS) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;

        strv_push_take(&words, mem_strndup(at, (size_t)(stop - at)));
        at = stop + 1;
    }
    check((int)words.count, strv_argv(&words));
    completion_of(&words, &completion);
    completion_add_id(&completion, "id");
    return 0;
}
