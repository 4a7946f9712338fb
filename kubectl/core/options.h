/* The verbs of kubectl ipu with their options: one table for parsing, help, the manual page, shell completion
 * and the tests that compare docs with the program. Pure. */
#pragma once

#include "base/options/opts.h"

enum output { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_NAME };
enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct options {
    char *kubeconfig, *context, *ns;
    bool all_namespaces, no_headers, watch;
    int output; /* enum output */
    int color;  /* enum color */
    /* logs */
    char *container, *instance, *rank, *since;
    bool follow, previous, timestamps;
    uint32_t tail; /* 0: all */
    uint32_t max_streams;
    /* whatif */
    uint32_t ipus; /* 0: all sizes */
    char *span;
    /* map */
    char *domain;
    /* release */
    bool yes;
    /* collect */
    char *file;
    /* ui */
    int address; /* index into page_addresses */
    uint32_t port;
};

enum verb_words { WORDS_NONE, WORDS_JOB, WORDS_MAYBE_JOB, WORDS_JOBS, WORDS_JOB_PARTITIONS };

struct verb {
    const char *name, *summary;
    enum verb_words words;
    struct opts_spec spec;
};

extern const char *const page_addresses[]; /* ends with NULL */
extern const struct verb verbs[];          /* ends with name NULL */
const struct verb *verb_find(const char *name);
/* Leaves of each job among the words after the verb its name: "ipujob/digits" is "digits". What is missing,
 * too much or no name, as sentences. */
void verb_read_words(const struct verb *verb, struct strv *words, struct strv *problems);
void verbs_help(struct str *out);
void verbs_man(struct str *out);
/* "90", "45s", "10m", "1h30m", "2d" as seconds. */
bool duration_parse(const char *text, int64_t *ret_seconds);
/* One candidate per line with its description, for what is typed after "kubectl ipu"; the last word may be
 * empty. */
void verbs_complete(const struct strv *words, struct str *out);
/* Which names of the cluster or the kubeconfig fit besides; the part of it that is typed. */
enum completed_names { NAMES_NONE, NAMES_JOBS, NAMES_NAMESPACES };
enum completed_names verbs_completed_names(const struct strv *words, const char **ret_typed);
