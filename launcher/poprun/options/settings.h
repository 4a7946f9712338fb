/* The given options before they are interpreted: options with their values as strings, and the program to
 * run. The command line and a configuration file give settings; merged, the upper ones override the lower
 * ones, option by option. Pure.
 *
 * A configuration file has one `name=value` per line. Empty lines and lines that start with # are skipped;
 * an unquoted value ends before a # that follows a space; a value in double quotes may contain anything,
 * with the escapes \n, \t, \" and \\. Options that may be repeated have a line for each use. `program=` and
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

/* argv[1..]: options up to the first word that is not an option; that one is the program, and the rest its
 * arguments. One sentence per mistake. */
void settings_read_words(struct settings *settings, int argc, char *const *argv, struct strv *problems);
void settings_read_file(struct settings *settings, struct slice text, const char *name,
                        struct strv *problems);
/* Each option in `upper` replaces all uses in `lower`; so does a program, with its arguments. */
void settings_overlay(struct settings *lower, const struct settings *upper);
/* The content of a configuration file; options that are only for this call are left out. */
void settings_write(const struct settings *settings, struct str *out);
/* Adds one use; only options that may be repeated, and switches, may occur twice. `where` may be NULL. */
void settings_add(struct settings *settings, const struct option_row *row, const char *value,
                  const char *where, struct strv *problems);
bool settings_has(const struct settings *settings, const struct option_row *row);
void settings_release(struct settings *settings);

static inline void settings_auto(struct settings *settings)
{
    settings_release(settings);
}
