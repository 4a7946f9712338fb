/* NUL- or newline-separated arguments; one that begins with '$' is the value of the environment variable E
 * instead. */
#include "base/options/opts.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/core/mem.h"

struct target {
    char *text;
    uint32_t number;
    bool flag;
    int choice;
};

static const char *const choices[] = {"one", "two", NULL};

static const struct opt rows[] = {
    OPT_VALUE("text", OPT_STR, offsetof(struct target, text), NULL, "x", .letter = 't', .env = "E"),
    OPT_VALUE("number", OPT_U32, offsetof(struct target, number), NULL, "x", .letter = 'n', .env = "E",
              .fallback = "3", .min = 2, .max = 9),
    OPT_SWITCH("flag", offsetof(struct target, flag), "x", .letter = 'f'),
    OPT_VALUE("choice", OPT_CHOICE, offsetof(struct target, choice), NULL, "x", .choices = choices),
    {0},
};

static const struct opts_spec spec = {.program = "p", .usage = "p", .about = "x", .rows = rows};

static const char *env_value;

static const char *env(const char *name)
{
    (void)name;
    return env_value;
}

static void check(const struct target *target, enum opts_result result, const struct strv *problems)
{
    if (target->number < 2 || target->number > 9 || target->choice < 0 || target->choice > 1)
        abort();
    if ((result == OPTS_BAD && problems->count == 0) || (result == OPTS_RUN && problems->count > 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    AUTO(strv) struct strv args = {0};
    AUTO(mem) char *text = mem_alloc(len + 1);
    char *at = text;

    env_value = NULL;
    strv_push(&args, "p");
    for (size_t i = 0; i < len; i++)
        text[i] = bytes[i] == '\n' ? '\0' : (char)bytes[i];
    for (; at < text + len; at += slice_of(at).len + 1) {
        if (*at == '$')
            env_value = at + 1;
        else
            strv_push(&args, at);
    }
    for (int stop = 0; stop < 2; stop++) {
        AUTO(strv) struct strv words = {0};
        AUTO(strv) struct strv problems = {0};
        struct target target = {0};
        enum opts_result result =
            opts_parse(&spec, (int)args.count, strv_argv(&args), env, stop, &target, &words, &problems);
        check(&target, result, &problems);
        opts_release(&spec, &target);
    }
    return 0;
}
