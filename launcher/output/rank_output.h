/* The output of a rank on its way to mpirun's daemon. The rank itself becomes the command and keeps its
 * process id, so that signals, exit status, process group and parent are as without this program. A separate
 * process, which no signal to the rank's group reaches, takes what the rank and its children write to
 * standard output and standard error, and hands it on in whole lines. It ends when all of them have closed
 * these. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"

struct rank_output {
    bool is_alone;    /* there is no other rank, and nothing is added */
    const char *rank; /* for the tags of lines; NULL: mpirun adds them */
};

/* Connects this process's streams to a new such process. */
MUST_USE bool rank_output_open(const struct rank_output *of, struct err *err);
