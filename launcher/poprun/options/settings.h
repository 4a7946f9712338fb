/* What was given, before it means anything: options with their values as text, and the program to run. The
 * command line and a configuration file give settings; of two that are laid over each other the upper wins,
 * option by option. Pure.
 *
 * A configuration file has one `name=value` a line. Lines that are empty or begin with # are skipped; a
 * bare value ends before blanks that are followed by #; a value in double quotes may hold anything, with \n,
 * \t, \" and \\ written so. Options that may be repeated have a line for each use. `program=` and
 * `program-arg=` are the program and its arguments. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/str.h"
#include "launcher/poprun/options/option.h"

#define SETTINGS_FILE_MAX ((size_t)1024 * 1024)

struct setting {
    const struct option_row *row;
    char *value; /* "yes" for a switch */
    char *where; /* file and line; NULL on the command line */
};

struct settings {
    struct setting *items;
    size_t count, cap;
    struct strv program; /* and its arguments */
};

/* argv[1..]: options up to the first word that is none; that one is the program, and all after it its
 * arguments. One sentence per mistake. */
void settings_read_words(struct settings *settings, int argc, char *const *argv, struct strv *problems);
void settings_read_file(struct settings *settings, struct slice text, const char *name,
                        struct strv *problems);
/* Each option that `upper` has replaces all of `lower`; so does a program, with its arguments. */
void settings_overlay(struct settings *lower, const struct settings *upper);
/* The text of a configuration file; what is of one call only is left out. */
void settings_write(const struct settings *settings, struct str *out);
/* Adds one use; only options that may be repeated, and switches, may come twice. `where` may be NULL. */
void settings_add(struct settings *settings, const struct option_row *row, const char *value,
                  const char *where, struct strv *problems);
bool settings_has(const struct settings *settings, const struct option_row *row);
void settings_release(struct settings *settings);

static inline void settings_auto(struct settings *settings)
{
    settings_release(settings);
}
