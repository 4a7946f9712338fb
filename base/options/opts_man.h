/* A manual page (roff, section 1) from a program's table of options, and its building blocks. Pure; appends
 * to `out`. */
#pragma once

#include "base/options/opts.h"
#include "base/core/str.h"

struct opts_man {
    const char *summary; /* a phrase after the program's name */
    const char *version;
    const char *commands; /* a section in roff between the description and the options, or NULL */
    const char *closing;  /* sections in roff at the end, or NULL */
};

void opts_man(const struct opts_spec *spec, const struct opts_man *man, struct str *out);

/* Text without any markup: each of its lines becomes a line. */
void roff_text(const char *text, struct str *out);
void roff_section(const char *title, struct str *out);
/* An entry of a list: the term, and its description. */
void roff_entry(const char *head, const char *text, struct str *out);
