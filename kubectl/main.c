/* kubectl-ipu: the verbs of kubectl ipu. kubectl starts it by its name, and as kubectl_complete-ipu for
 * completions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/suggest.h"
#include "base/io/log.h"
#include "kubectl/page/ui_verb.h"
#include "kubectl/shell/session.h"

#define COMPLETE "kubectl_complete-ipu"

static const char *env_of(const char *name)
{
    return getenv(name);
}

static int print_version(void)
{
    return puts("kubectl-ipu " IPU_OPERATOR_VERSION) < 0 ? STATUS_FAILED : STATUS_OK;
}

static const struct {
    const char *name;
    verb_fn run;
} RUNS[] = {
    {"why", why_verb},         {"eta", eta_verb},       {"whatif", whatif_verb},   {"queue", queue_verb},
    {"logs", logs_verb},       {"top", top_verb},       {"map", map_verb},         {"ui", ui_verb},
    {"suspend", suspend_verb}, {"resume", resume_verb}, {"release", release_verb}, {"collect", collect_verb},
};

static int run_verb(const struct verb *verb, const struct options *options, const struct strv *words)
{
    for (size_t i = 0; i < COUNT_OF(RUNS); i++) {
        if (str_eq(RUNS[i].name, verb->name))
            return session_run(options, words, env_of, RUNS[i].run);
    }
    return print_version();
}

static int verb_main(const struct verb *verb, int argc, char **argv)
{
    AUTO(strv) struct strv words = {0};
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str text = {0};
    struct options options = {0};
    int status = STATUS_BAD_USAGE;

    log_setup(LOG_WARN, false);
    switch (opts_parse(&verb->spec, argc, argv, env_of, false, &options, &words, &problems)) {
    case OPTS_HELP:
        opts_help(&verb->spec, &text);
        status = print_out(str_text(&text), text.len) ? STATUS_OK : STATUS_FAILED;
        break;
    case OPTS_VERSION:
        status = print_version();
        break;
    case OPTS_RUN:
    case OPTS_BAD:
        verb_read_words(verb, &words, &problems);
        for (size_t i = 0; i < problems.count; i++)
            complain("%s", problems.items[i]);
        if (problems.count == 0)
            status = run_verb(verb, &options, &words);
        break;
    }
    opts_release(&verb->spec, &options);
    return status;
}

static int unknown_verb(const char *word)
{
    struct suggest suggest = suggest_init(word);
    const char *best;

    for (const struct verb *verb = verbs; verb->name; verb++)
        suggest_candidate(&suggest, verb->name);
    best = suggest_best(&suggest);
    if (word[0] == '-')
        complain("options follow the verb, as in kubectl ipu why JOB -n NAMESPACE; see kubectl ipu --help");
    else
        complain("unknown verb \"%s\"%s%s%s; see kubectl ipu --help", word, best ? "; did you mean " : "",
                 best ? best : "", best ? "?" : "");
    return STATUS_BAD_USAGE;
}

static int print_pages(void (*page)(struct str *out))
{
    AUTO(str) struct str text = {0};

    page(&text);
    return print_out(str_text(&text), text.len) ? STATUS_OK : STATUS_FAILED;
}

static int complete(int count, char **typed)
{
    AUTO(strv) struct strv words = {0};

    for (int i = 0; i < count; i++)
        strv_push(&words, typed[i]);
    return complete_main(&words, env_of);
}

int main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *word = argc > 1 ? argv[1] : "--help";
    const struct verb *verb = verb_find(word);

    if (str_eq(slash ? slash + 1 : argc > 0 ? argv[0] : "", COMPLETE))
        return complete(argc - 1, argv + 1);
    if (str_eq(word, "__man")) /* hidden: for the build only */
        return print_pages(verbs_man);
    if (str_eq(word, "--help") || str_eq(word, "-h") || str_eq(word, "help"))
        return print_pages(verbs_help);
    if (str_eq(word, "--version"))
        return print_version();
    return verb ? verb_main(verb, argc - 1, argv + 1) : unknown_verb(word);
}
