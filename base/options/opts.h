/* Options of a program from one table: a row is the flag, the environment variable, the key in a
 * configuration file, the help text and the field in a struct. Parsing, --help and the tests that compare
 * docs with programs use the same rows. Precedence: flag, environment, file, default. All mistakes are
 * reported at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/str.h"

enum opt_type {
    OPT_FLAG,   /* bool; given without a value, or =true/=false */
    OPT_STR,    /* char *, owned by the struct: free with opts_release */
    OPT_U32,    /* uint32_t in [min, max] */
    OPT_CHOICE, /* int; index into choices */
    OPT_LIST,   /* struct strv, owned likewise; every time it is given adds a value */
};

struct opt {
    const char *flag; /* "api-host": --api-host VALUE or --api-host=VALUE */
    char letter;      /* 'H' for -H VALUE, or 0 */
    const char *env;  /* "VIPU_CLI_API_HOST", or NULL */
    enum opt_type type;
    size_t offset;        /* in the options struct */
    const char *fallback; /* text form of the default, or NULL for zero/NULL */
    const char *arg;      /* name of the value in help: "HOST" */
    const char *help; /* one sentence without period; NULL: an old spelling of another row's option; accepted,
                         not shown */
    unsigned min, max;          /* OPT_U32 */
    const char *const *choices; /* OPT_CHOICE, NULL-terminated; for OPT_STR: what shell completion offers */
};

/* Rows of a table. Other fields may follow the help text: .env = "VIPU_CLI_API_HOST". */
#define OPT_VALUE(flag_, type_, offset_, arg_, ...)                                                          \
    {                                                                                                        \
        .flag = (flag_), .type = (type_), .offset = (offset_), .arg = (arg_), .help = __VA_ARGS__            \
    }
#define OPT_SWITCH(flag_, offset_, ...)                                                                      \
    {                                                                                                        \
        .flag = (flag_), .type = OPT_FLAG, .offset = (offset_), .help = __VA_ARGS__                          \
    }

struct opts_spec {
    const char *program;
    const char *usage;      /* after "Usage: ", may have several lines */
    const char *about;      /* one paragraph */
    const struct opt *rows; /* ends with flag NULL */
    const char *footer;     /* printed after the options in --help, or NULL */
    bool once; /* an option with a value may be given once: for people, who may not see the first one */
};

enum opts_result { OPTS_RUN, OPTS_HELP, OPTS_VERSION, OPTS_BAD };

/* Fills `target` (zeroed before, or filled by the same table) with defaults, then environment, then
 * argv[1..]. Words that are not options are copied to `words`, or are mistakes if it is NULL; after "--" all
 * words are; with stop_at_word the first word ends option parsing. The word after an unknown
 * option is taken for its value if it cannot be a command. --help, -h and --version always exist, -h unless a
 * row has that letter. An empty variable counts as unset. OPTS_BAD: `problems` has one sentence per mistake.
 * getenv is a parameter so that parsing is pure. */
enum opts_result opts_parse(const struct opts_spec *spec, int argc, char **argv,
                            const char *(*env)(const char *), bool stop_at_word, void *target,
                            struct strv *words, struct strv *problems);
/* The two halves of opts_parse. A program with a configuration file parses once to get its path, then starts
 * over: opts_defaults, opts_set for each key of the file, opts_overlay for environment and arguments. */
void opts_defaults(const struct opts_spec *spec, void *target);
enum opts_result opts_overlay(const struct opts_spec *spec, int argc, char **argv,
                              const char *(*env)(const char *), bool stop_at_word, void *target,
                              struct strv *words, struct strv *problems);
const struct opt *opts_find(const struct opts_spec *spec, const char *flag); /* NULL: there is no such row */
bool opts_has_letter(const struct opts_spec *spec, char letter);
void opts_help(const struct opts_spec *spec, struct str *out);
/* A line in the format of opts_help, for other lists in `about`: the term, and its description. */
void opts_help_row(const char *head, const char *text, struct str *out);
/* The line of one option. */
void opts_help_option(const struct opt *row, struct str *out);
/* The help of one row with its choices, default and variable, for every page that lists options. */
void opts_describe(const struct opt *row, struct str *text);
#define OPTS_HELP_TEXT "print this text and exit"
#define OPTS_VERSION_TEXT "print the version and exit"
/* Sets one row from text, for configuration files. ERR_INVALID names the flag and valid values. */
MUST_USE bool opts_set(const struct opt *row, void *target, const char *text, struct err *err);
void opts_release(const struct opts_spec *spec, void *target);
