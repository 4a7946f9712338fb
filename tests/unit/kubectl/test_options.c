#include "kubectl/core/options.h"

#include "base/core/mem.h"
#include "lib/check.h"

TEST(durations_are_those_of_kubectl)
{
    static const struct {
        const char *text;
        int64_t want; /* 0: invalid */
    } rows[] = {
        {"90s", 90}, {"10m", 600}, {"1h30m", 5400}, {"2d", 172800}, {"90", 0}, {"1h30", 0},
        {"", 0},     {"m", 0},     {"-1s", 0},      {"1x", 0},      {"0s", 0},
    };

    CHECK_ROWS (row, rows) {
        int64_t seconds = 0;

        CHECK_INT_EQ(duration_parse(row->text, &seconds), row->want > 0);
        CHECK_INT_EQ(seconds, row->want);
    }
}

static void complete(const char *typed, struct str *out, enum completed_names *ret_names)
{
    AUTO(strv) struct strv words = {0};
    AUTO(mem) char *copy = mem_strdup(typed);
    const char *last = "";

    strv_split(copy, ' ', &words);
    if (str_has_suffix(typed, " ") || !*typed)
        strv_push(&words, "");
    str_clear(out);
    verbs_complete(&words, out);
    *ret_names = verbs_completed_names(&words, &last);
}

TEST(completion_offers_what_may_follow)
{
    static const struct {
        const char *typed, *has;
        enum completed_names names;
    } rows[] = {
        {"", "why\t", NAMES_NONE},
        {"wh", "why\t", NAMES_NONE},
        {"why ", "", NAMES_JOBS},
        {"why job ", "", NAMES_NONE},
        {"suspend job ", "", NAMES_JOBS},
        {"why -n ", "", NAMES_NAMESPACES},
        {"why --namespace ml ", "", NAMES_JOBS},
        {"logs -f ", "", NAMES_JOBS},
        {"logs --max-s", "--max-streams\t", NAMES_NONE},
        {"queue ", "", NAMES_NONE},
        {"whatif ", "", NAMES_JOBS},
        {"whatif job ", "", NAMES_NONE},
        {"queue -o ", "wide\t\n", NAMES_NONE},
        {"nonsense ", "", NAMES_NONE},
    };
    AUTO(str) struct str out = {0};
    enum completed_names names;

    CHECK_ROWS (row, rows) {
        complete(row->typed, &out, &names);
        CHECK_HAS(str_text(&out), row->has);
        CHECK_INT_EQ(names, row->names);
    }
}

TEST(words_of_a_verb_are_counted)
{
    static const struct {
        const char *verb, *words, *problem;
    } rows[] = {
        {"why", "", "missing name of the job; see kubectl ipu why --help"},
        {"why", "a b", "unexpected argument \"b\"; see kubectl ipu why --help"},
        {"whatif", "", NULL},
        {"whatif", "a", NULL},
        {"whatif", "a b", "unexpected argument \"b\"; see kubectl ipu whatif --help"},
        {"why", "ij a", NULL},
        {"why", "ipujobs a b", "unexpected argument \"b\"; see kubectl ipu why --help"},
        {"why", "ij", NULL},
        {"queue", "ij", "unexpected argument \"ij\"; see kubectl ipu queue --help"},
        {"queue", "a", "unexpected argument \"a\"; see kubectl ipu queue --help"},
        {"suspend", "a b c", NULL},
        {"release", "a p-1 p-2", NULL},
    };

    CHECK_ROWS (row, rows) {
        AUTO(strv) struct strv words = {0}, problems = {0};

        strv_split(row->words, ' ', &words);
        verb_read_words(verb_find(row->verb), &words, &problems);
        CHECK_STR_EQ(problems.count ? problems.items[0] : NULL, row->problem);
    }
}

TEST(a_job_is_named_as_kubectl_does)
{
    static const struct {
        const char *verb, *word, *name; /* NULL: wrong usage */
    } rows[] = {
        {"why", "digits", "digits"},
        {"why", "ij/digits", "digits"},
        {"logs", "ipujob/digits", "digits"},
        {"suspend", "ipujobs/digits", "digits"},
        {"resume", "ipujob.graphcore.ai/digits", "digits"},
        {"release", "ipujobs.graphcore.ai/digits", "digits"},
        {"suspend", "ipujob.example.com", "ipujob.example.com"},
        {"suspend", "digits/status", NULL},
        {"why", "ipujob/digits/status", NULL},
        {"why", "pod/digits", NULL},
        {"why", "ipujob/", NULL},
        {"why", "", NULL},
        {"why", "..", NULL},
        {"logs", "digits,role", NULL},
        {"logs", "digits%2Fstatus", NULL},
    };

    CHECK_ROWS (row, rows) {
        AUTO(strv) struct strv words = {0}, problems = {0};
        AUTO(mem)
        char *problem =
            mem_printf("JOB must be the name of an IPUJob, got \"%s\"; see kubectl get ipujobs", row->word);

        strv_push(&words, row->word);
        verb_read_words(verb_find(row->verb), &words, &problems);
        CHECK_STR_EQ(words.items[0], row->name ? row->name : row->word);
        CHECK_STR_EQ(problems.count ? problems.items[0] : NULL, row->name ? NULL : problem);
    }
}

TEST(a_kind_may_precede_names_as_for_kubectl)
{
    AUTO(strv) struct strv words = {0}, problems = {0};

    strv_split("ipujob a ij", ' ', &words);
    verb_read_words(verb_find("suspend"), &words, &problems);
    CHECK_INT_EQ(words.count, 2);
    CHECK_STR_EQ(words.items[0], "a");
    CHECK_STR_EQ(words.items[1], "ij");
    CHECK_INT_EQ(problems.count, 0);
}

TEST(partitions_of_a_job_are_as_they_were_typed)
{
    AUTO(strv) struct strv words = {0}, problems = {0};

    strv_split("ipujob/digits p-1/2", ' ', &words);
    verb_read_words(verb_find("release"), &words, &problems);
    CHECK_STR_EQ(words.items[0], "digits");
    CHECK_STR_EQ(words.items[1], "p-1/2");
    CHECK_INT_EQ(problems.count, 0);
}
