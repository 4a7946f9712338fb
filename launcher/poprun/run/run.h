/* One run of poprun from validated options to mpirun's exit status, with its log, and the cleanup. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"
#include "launcher/poprun/run/vipu_endpoint_config.h"
#include "launcher/poprun/log/run_log.h"
#include "launcher/poprun/run/cleanup.h"
#include "launcher/poprun/options/options.h"

struct run {
    const struct poprun_options *options;
    const struct strv *program;
    const struct strv *hosts;
    const char *local_name;      /* of this host, or NULL */
    const struct access *access; /* unused in offline mode */
    const char *(*env)(const char *name);
    const struct run_log *run_log;
    struct cleanup *left;
    const char *mpirun; /* its path */
    void (*print)(const char *text);
};

int run_perform(void *run); /* a struct run; the exit status */
void run_clean_up(void *run);
/* Plans, and prints topology and command instead of running it; nothing is changed. */
MUST_USE bool run_describe(const struct run *run, struct err *err);
