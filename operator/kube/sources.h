/* The files behind an identity: which field each one fills, and whether it changed since it was read.
 * Internal to the kube room. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "operator/kube/identity.h"

enum source_kind {
    SOURCE_TOKEN, /* blanks around it are dropped; new tokens need no new connections */
    SOURCE_PEM,   /* a certificate or key: new connections */
};

struct source {
    char *path;
    enum source_kind kind;
    size_t field; /* offset of the char * in struct identity */
    struct stat seen;
};

struct identity_sources {
    struct source *items;
    size_t count;
};

/* Reads the file into the field at once and remembers it. */
MUST_USE bool sources_add(struct identity *identity, const char *path, enum source_kind kind, size_t field,
                          struct err *err);
void sources_free(struct identity_sources *sources);
