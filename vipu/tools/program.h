/* What gc-info and gc-monitor have in common: they read the command line from a table, print, report errors,
 * and end with a status that says what happened. */
#pragma once

#include "base/options/opts.h"
#include "base/core/str.h"
#include "vipu/tools/devices/attach.h"

#define PROGRAM_USAGE 2 /* exit status after an invalid command line */

struct program {
    const struct opts_spec *spec;
    const char *summary; /* a phrase for the manual page */
    const char *(*env)(const char *name);
    int (*run)(const struct program *program, const void *options);
};

/* `options` is the zeroed struct of the table. Returns the exit status. */
int program_main(const struct program *program, int argc, char **argv, void *options);

/* For `run`; each returns the matching exit status. */
int program_print(const struct program *program, const struct str *out);
int program_fail(const struct program *program, const char *sentence);
int program_complain(const struct program *program, const struct strv *problems);

/* ~/.ipuof.conf.d of the user. The caller frees it. */
char *program_home_folder(const struct program *program);

/* For the table of the struct `owner`, which has a char *run_dir. */
#define PROGRAM_RUN_DIR_ROW(owner)                                                                           \
    OPT_VALUE(                                                                                               \
        "run-dir", OPT_STR, offsetof(owner, run_dir), "DIR",                                                 \
        "directory where programs of this host lock their devices (default: /run/ipuof or /tmp/ipuof)",      \
        .env = ATTACH_FOLDER_ENV)
/* The folder of the locks: run_dir, if the option is set. Borrowed. */
const char *program_lock_folder(const struct program *program, const char *run_dir);
