/* The command line of ipu-run. */
#pragma once

#include "base/options/opts.h"
#include "base/core/str.h"

enum options_output { OUTPUT_TEXT, OUTPUT_JSON };

struct options {
    struct strv set, with, bind;
    uint32_t ipus, timeout_s;
    char *controller, *run_dir;
    bool strict;
    int output, engine, log_level;
};

extern const struct opts_spec OPTIONS_SPEC;

void options_man(struct str *out);
/* The completion script of a shell; false: it is none of bash, zsh and fish. */
bool options_completion(const char *shell, struct str *out);
