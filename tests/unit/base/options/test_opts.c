#include "base/options/opts.h"

#include <stddef.h>
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

struct sample {
    char *host;
    uint32_t port, patience_s;
    bool verbose;
    bool json;
    int format;
};

static const char *const formats[] = {"text", "json", NULL};

static const struct opt rows[] = {
    OPT_VALUE("api-host", OPT_STR, offsetof(struct sample, host), "HOST", "where the controller listens",
              .letter = 'H', .env = "T_HOST", .fallback = "localhost"),
    OPT_VALUE("port", OPT_U32, offsetof(struct sample, port), "PORT", "its port", .letter = 'p',
              .env = "T_PORT", .fallback = "8090", .min = 1, .max = 65535),
    OPT_SWITCH("verbose", offsetof(struct sample, verbose), "say more", .letter = 'v', .env = "T_VERBOSE"),
    OPT_SWITCH("json", offsetof(struct sample, json), "print JSON", .letter = 'j'),
    OPT_VALUE("log-format", OPT_CHOICE, offsetof(struct sample, format), "FORMAT", "how log lines look",
              .env = "T_FORMAT", .fallback = "text", .choices = formats),
    OPT_VALUE("patience", OPT_U32, offsetof(struct sample, patience_s), "SECONDS", NULL, .max = 60),
    OPT_VALUE("host", OPT_STR, offsetof(struct sample, host), NULL, NULL),
    {0},
};

static const struct opts_spec spec = {.program = "sample",
                                      .usage = "sample [OPTION]... [WORD]...",
                                      .about = "Shows options.",
                                      .rows = rows,
                                      .once = true};

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static const char *some_env(const char *name)
{
    if (str_eq(name, "T_HOST"))
        return "from-env";
    return str_eq(name, "T_PORT") ? "1234" : str_eq(name, "T_FORMAT") ? "" : NULL;
}

/* Parses blank-separated words; returns "result host port flags format | words | problems". */
static char *parse(const char *line, const char *(*env)(const char *), bool stop_at_word)
{
    static const char *const results[] = {"run", "help", "version", "bad"};
    AUTO(mem) char *copy = mem_strdup(line);
    AUTO(strv) struct strv words = {0};
    AUTO(strv) struct strv problems = {0};
    struct sample sample = {0};
    struct str out = {0};
    char *argv[32] = {(char[]){"sample"}};
    int argc = 1;
    char *rest = NULL;

    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    enum opts_result result = opts_parse(&spec, argc, argv, env, stop_at_word, &sample, &words, &problems);
    (void)str_addf(&out, "%s %s %u %s%s%s |", results[result], sample.host, sample.port,
                   sample.verbose ? "v" : "", sample.json ? "j" : "", formats[sample.format]);
    for (size_t i = 0; i < words.count; i++)
        (void)str_addf(&out, " %s", words.items[i]);
    (void)str_adds(&out, " |");
    for (size_t i = 0; i < problems.count; i++)
        (void)str_addf(&out, " %s;", problems.items[i]);
    opts_release(&spec, &sample);
    CHECK(sample.host == NULL);
    return str_take(&out);
}

TEST(arguments)
{
    static const struct {
        const char *line;
        const char *want;
    } cases[] = {
        {"", "run localhost 8090 text | |"},
        {"--api-host h", "run h 8090 text | |"},
        {"--api-host=h --port=1", "run h 1 text | |"},
        {"--api-host= x", "run  8090 text | x |"},
        {"-H h", "run h 8090 text | |"},
        {"-Hh -p7", "run h 7 text | |"},
        {"-H=h", "run h 8090 text | |"},
        {"-vj", "run localhost 8090 vjtext | |"},
        {"-vjp9 a", "run localhost 9 vjtext | a |"},
        {"-vp 9 a", "run localhost 9 vtext | a |"},
        {"--verbose --verbose=false", "run localhost 8090 text | |"},
        {"a -v b", "run localhost 8090 vtext | a b |"},
        {"a -- -v b", "run localhost 8090 text | a -v b |"},
        {"- -v", "run localhost 8090 vtext | - |"},
        {"--log-format json", "run localhost 8090 json | |"},
        {"--host old", "run old 8090 text | |"},
        {"-p 1 -v -v --port=2 -p 3", "bad localhost 3 vtext | | --port is given more than once;"},
        {"a --nope b c -x 5 d",
         "bad localhost 8090 text | a b c d | unknown option --nope; see sample --help; "
         "unknown option -x; see sample --help;"},
        {"--help --nonsense", "help localhost 8090 text | | unknown option --nonsense; see sample --help;"},
        {"-h", "help localhost 8090 text | |"},
        {"-vh", "help localhost 8090 vtext | |"},
        {"--version", "version localhost 8090 text | |"},
    };

    CHECK_ROWS (row, cases) {
        AUTO(mem) char *got = parse(row->line, no_env, false);
        CHECK_STR_EQ(got, row->want);
    }
}

TEST(the_first_word_can_end_the_options)
{
    AUTO(mem) char *got = parse("-v run -x --port 5", no_env, true);

    CHECK_STR_EQ(got, "run localhost 8090 vtext | run -x --port 5 |");
}

TEST(flags_beat_the_environment_and_that_beats_defaults)
{
    AUTO(mem) char *env = parse("", some_env, false);
    AUTO(mem) char *both = parse("--port 5", some_env, false);

    CHECK_STR_EQ(env, "run from-env 1234 text | |");
    CHECK_STR_EQ(both, "run from-env 5 text | |");
}

TEST(all_mistakes_are_reported_at_once)
{
    AUTO(mem)
    char *got =
        parse("--patience 5m --port 0 --log-format xml --verbose=maybe --wrong -x --api-host", no_env, false);

    CHECK_STR_EQ(got, "bad localhost 8090 text | | --patience: expected a number of seconds from 0 to 60, "
                      "got \"5m\"; "
                      "--port: expected a number from 1 to 65535, got \"0\"; "
                      "--log-format: expected one of text, json, got \"xml\"; "
                      "--verbose: expected true or false, got \"maybe\"; "
                      "unknown option --wrong; see sample --help; "
                      "unknown option -x; see sample --help; "
                      "--api-host requires a value: --api-host HOST;");
}

TEST(a_slip_names_the_nearest_option)
{
    AUTO(mem) char *got = parse("--prot 1 --jsno --versoin=2", no_env, false);

    CHECK_STR_EQ(got, "bad localhost 8090 text | | unknown option --prot; did you mean --port?; "
                      "unknown option --jsno; did you mean --json?; "
                      "unknown option --versoin; did you mean --version?;");
}

TEST(a_word_is_a_mistake_for_a_program_without_words)
{
    AUTO(strv) struct strv problems = {0};
    struct sample sample = {0};
    char *argv[] = {(char[]){"sample"}, (char[]){"status"}, (char[]){"-v"}, (char[]){"--"}, (char[]){"-x"}};

    CHECK_INT_EQ(opts_parse(&spec, 5, argv, no_env, false, &sample, NULL, &problems), OPTS_BAD);
    CHECK_INT_EQ(problems.count, 2);
    CHECK_STR_EQ(problems.items[0], "unexpected argument \"status\"; see sample --help");
    CHECK_STR_EQ(problems.items[1], "unexpected argument \"-x\"; see sample --help");
    opts_release(&spec, &sample);
}

static const char *bad_env(const char *name)
{
    return str_eq(name, "T_PORT") ? "http" : NULL;
}

TEST(a_mistake_in_the_environment_names_the_variable)
{
    AUTO(mem) char *got = parse("", bad_env, false);

    CHECK_STR_EQ(got, "bad localhost 8090 text | | variable T_PORT: --port: expected a number from 1 to "
                      "65535, got \"http\";");
}

TEST(a_configuration_file_stands_between_defaults_and_environment)
{
    AUTO(strv) struct strv words = {0};
    AUTO(strv) struct strv problems = {0};
    struct sample sample = {0};
    char *argv[] = {(char[]){"sample"}, (char[]){"-v"}};
    struct err err;

    opts_defaults(&spec, &sample);
    CHECK_OK(opts_set(opts_find(&spec, "port"), &sample, "77", &err), err);
    CHECK_OK(opts_set(opts_find(&spec, "api-host"), &sample, "from-file", &err), err);
    CHECK(opts_find(&spec, "api") == NULL);
    CHECK_INT_EQ(opts_overlay(&spec, 2, argv, some_env, false, &sample, &words, &problems), OPTS_RUN);
    CHECK_STR_EQ(sample.host, "from-env");
    CHECK_INT_EQ(sample.port, 1234);
    CHECK(sample.verbose);
    opts_release(&spec, &sample);
}

TEST(help_shows_every_row_with_a_text)
{
    AUTO(str) struct str out = {0};

    opts_help(&spec, &out);
    CHECK_STR_EQ(str_text(&out),
                 "Usage: sample [OPTION]... [WORD]...\n\nShows options.\n\nOptions:\n"
                 "  -H, --api-host HOST             where the controller listens (default localhost) "
                 "[T_HOST]\n"
                 "  -p, --port PORT                 its port (default 8090) [T_PORT]\n"
                 "  -v, --verbose                   say more [T_VERBOSE]\n"
                 "  -j, --json                      print JSON\n"
                 "      --log-format FORMAT         how log lines look: text, json (default text) "
                 "[T_FORMAT]\n"
                 "  -h, --help                      print this text and exit\n"
                 "      --version                   print the version and exit\n");
}

TEST(long_help_is_broken_into_lines)
{
    static const struct opt wide[] = {{.flag = "n",
                                       .type = OPT_FLAG,
                                       .help = "words that go on and on until they come to the edge of what "
                                               "people can read without moving their heads"},
                                      {0}};
    static const struct opts_spec wordy = {
        .program = "x",
        .usage = "x",
        .about =
            "A paragraph whose words come to the edge of the page somewhere around this place, so that they "
            "go on.\n\n  - its own   layout stays",
        .rows = wide,
        .footer = "short:\n  - kept"};
    AUTO(str) struct str out = {0};

    opts_help(&wordy, &out);
    CHECK_STR_EQ(
        str_text(&out),
        "Usage: x\n\n"
        "A paragraph whose words come to the edge of the page somewhere around this place, so that they go\n"
        "on.\n\n  - its own   layout stays\n\nOptions:\n"
        "      --n                         words that go on and on until they come to the edge of what "
        "people\n"
        "                                  can read without moving their heads\n"
        "  -h, --help                      print this text and exit\n"
        "      --version                   print the version and exit\n\n"
        "short:\n  - kept\n");
}

TEST(a_default_that_does_not_fit_is_a_bug)
{
    static const struct opt wrong[] = {
        {.flag = "n", .type = OPT_U32, .fallback = "9", .min = 1, .max = 5, .help = "x"}, {0}};
    static const struct opts_spec broken = {.program = "x", .usage = "x", .about = "x", .rows = wrong};
    uint32_t n;

    CHECK_ABORTS(opts_defaults(&broken, &n));
}

TEST(an_option_that_is_a_list_may_be_repeated)
{
    static const struct opt list_rows[] = {OPT_VALUE("set", OPT_LIST, 0, "WORD", "a word", .letter = 's'),
                                           {0}};
    static const struct opts_spec list_spec = {
        .program = "sample", .usage = "sample", .about = "Shows lists.", .rows = list_rows, .once = true};
    char *argv[] = {"sample", "--set", "a", "-sb", "--set=c", NULL};
    AUTO(strv) struct strv problems = {0};
    struct strv words = {0};

    CHECK_INT_EQ(opts_parse(&list_spec, 5, argv, no_env, false, &words, NULL, &problems), OPTS_RUN);
    CHECK_INT_EQ(words.count, 3);
    CHECK_STR_EQ(words.items[2], "c");
    opts_release(&list_spec, &words);
    CHECK_INT_EQ(words.count, 0);
}
