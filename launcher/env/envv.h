/* An environment under construction: the inherited entries, borrowed and untouched, and what is put in. It
 * never changes the process's own environment. The first of two entries with one name counts, as for getenv;
 * entries without
 * '=' are carried along. The inherited vector must outlive it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/str.h"

struct envv {
    char **items; /* NULL-terminated; borrowed from the inherited vector and from `added` */
    size_t count;
    size_t cap;
    struct strv added; /* the entries put in, in that order */
};

void envv_init(struct envv *env, char *const *inherited);
void envv_release(struct envv *env);

static inline void envv_auto(struct envv *env)
{
    envv_release(env);
}

const char *envv_get(const struct envv *env, const char *name); /* NULL when absent; borrowed */
/* How many entries envv_unwrap would take: their name is the prefix, once, and something more. */
size_t envv_count(const struct envv *env, const char *prefix);

void envv_set(struct envv *env, const char *name, const char *value);
/* Sets what is not there yet; a value that is there, even an empty one, stays. */
void envv_default(struct envv *env, const char *name, const char *value);
/* Every PREFIXname=value becomes name=value if name is not there yet, and disappears otherwise. */
void envv_unwrap(struct envv *env, const char *prefix);
