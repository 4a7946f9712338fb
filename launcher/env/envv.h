/* An environment under construction: the inherited entries, borrowed and unchanged, and the added ones. It
 * never changes the process's own environment. The first of two entries with one name counts, as for getenv;
 * entries without '=' are kept. The inherited vector must outlive it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/str.h"

struct envv {
    char **items; /* NULL-terminated; borrowed from the inherited vector and from `added` */
    size_t count;
    size_t cap;
    struct strv added; /* the added entries, in order */
};

void envv_init(struct envv *env, char *const *inherited);
void envv_release(struct envv *env);

static inline void envv_auto(struct envv *env)
{
    envv_release(env);
}

const char *envv_get(const struct envv *env, const char *name); /* NULL if absent; borrowed */
/* How many entries envv_unwrap would rename: those whose name has the prefix, once, and something more. */
size_t envv_count(const struct envv *env, const char *prefix);

void envv_set(struct envv *env, const char *name, const char *value);
/* Sets the variable unless it exists; an existing value, even an empty one, is kept. */
void envv_default(struct envv *env, const char *name, const char *value);
void envv_unset(struct envv *env, const char *name);
/* Renames every PREFIXname=value to name=value, or removes it if name exists. */
void envv_unwrap(struct envv *env, const char *prefix);
