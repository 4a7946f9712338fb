/* Shell completion from a program's table of options. The shells' scripts are thin: they call
 * `PROGRAM __complete WORD...` (the last word is the one being typed, possibly empty) and get one candidate
 * per line: the word, a tab, and its description. A line ":files" asks the shell for file names. Pure. */
#pragma once

#include <stdbool.h>

#include "base/options/opts.h"
#include "base/core/str.h"

struct opts_completion {
    struct strv candidates;  /* "WORD\tDESCRIPTION", all starting with what was typed */
    bool files;              /* file names fit */
    struct str lead;         /* "--allocation=": prefix of each candidate */
    struct str typed;        /* prefix that a candidate must have */
    struct strv before;      /* the words before, without options and their values */
    const struct opt *value; /* the option whose value is being typed, or NULL */
};

/* For programs whose words are not fixed: looks at what was typed, without offering anything. */
void opts_completion_begin(const struct opts_spec *spec, const struct strv *words,
                           struct opts_completion *ret);
void opts_completion_offer(struct opts_completion *completion, const char *word, const char *about);
void opts_completion_offer_option(struct opts_completion *completion, const struct opt *row);
void opts_completion_offer_help(struct opts_completion *completion); /* --help and --version */
void opts_completion_offer_values(struct opts_completion *completion);
void opts_completion_print(const struct opts_completion *completion, struct str *out);
void opts_completion_release(struct opts_completion *completion);
DEFINE_AUTO(opts_completion);

/* What else fits as the first word. */
struct opts_command {
    const char *name, *about;
};

/* `PROGRAM __complete WORD...` and `PROGRAM __completion SHELL`, which are for the scripts and the build.
 * False: it is another command line. `commands` ends with name NULL, or is NULL. */
bool opts_completion_answer(const struct opts_spec *spec, const struct opts_command *commands, int argc,
                            char **argv, struct str *out);

#define OPTS_COMPLETION_SHELLS                                                                               \
    {                                                                                                        \
        "bash", "zsh", "fish", NULL                                                                          \
    }
/* The script for a shell; false for any other. `names` are all the names of the program, the first its own,
 * and `source` is the command that prints the script. */
bool opts_completion_script(const char *shell, const char *names, const char *source, struct str *out);
