/* The options of poprun: one table. The command line, configuration files, --help, the manual page, shell
 * completion and the tests that compare them with docs/poprun.md use the same rows. Names, defaults and
 * formats are those of Graphcore's PopRun, which uses Boost.Program_options: a bool takes a value, a name
 * may be shortened as long as it stays unambiguous, a long name may have one dash. Therefore this is not
 * base/options/opts. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

enum option_type {
    OPTION_SWITCH, /* bool; takes no value */
    OPTION_BOOL,   /* bool; yes/no, on/off, true/false, 1/0 */
    OPTION_COUNT,  /* uint32_t in [min, max] */
    OPTION_TEXT,   /* char *; may be empty */
    OPTION_LIST,   /* struct strv; each use adds one */
    OPTION_CHOICE, /* int; index into choices */
};

enum option_group { OPTION_GENERIC, OPTION_LAUNCH, OPTION_GROUPS };

struct option_row {
    const char *name;
    char letter; /* or 0 */
    enum option_group group;
    enum option_type type;
    size_t offset;        /* in struct poprun_options */
    const char *fallback; /* text form of the default, or NULL */
    const char *arg;      /* name of the value; NULL for OPTION_SWITCH */
    const char *help;     /* a phrase without period */
    uint32_t min, max;    /* OPTION_COUNT */
    const char *const *choices;
    bool is_cli_only; /* only for this call: never in a configuration file */
};

extern const struct option_row option_rows[]; /* ends with name NULL */

#define OPTION_MAX 64u /* more than there are rows */

const struct option_row *option_find(const char *name); /* the full name, or NULL */
const struct option_row *option_of_letter(char letter);
/* The option that a mistyped name, or the end of one, probably means; NULL: none is similar. */
const char *option_suggest(const char *word);
/* The full name, or an unambiguous prefix. ERR_NOT_FOUND: unknown; ERR_INVALID: ambiguous. */
MUST_USE bool option_match(const char *name, size_t len, const struct option_row **ret, struct err *err);
size_t option_index(const struct option_row *row);

/* Sets the row's field of `target`, a struct poprun_options. ERR_INVALID names the option and valid values.
 */
MUST_USE bool option_set(const struct option_row *row, void *target, const char *text, struct err *err);
