/* The application file of a run whose command does not fit a command line: a line for each instance, which
 * mpirun reads with --app. Open MPI 4.1 and 5 split such lines at spaces, know no quotes, and break
 * long lines (parse_appfile in open-mpi/ompi orte/orted/orted_submit.c; prte.c in openpmix/prrte): a line has
 * at most 1,023 bytes. Therefore what all instances have in common, program and variables, is not in the
 * lines but in two variables, which poprun_numa_wrapper reads (WRAPPER_ENV_SHARED, WRAPPER_ENV_PROGRAM).
 * Pure. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"

/* `parts`: the words of each instance, from "-np" to the program's last argument, with WRAPPER_PROGRAM in
 * front of the program. Appends a line for each to `lines`, and the two variables to `variables`. ERR_INVALID
 * names what an application file cannot contain, and the remedy. */
MUST_USE bool app_file_make(const struct strv *parts, size_t count, struct strv *lines,
                            struct strv *variables, struct err *err);
