/* The files behind an identity: which field each one fills, and whether it changed since it was read; and a
 * credential plugin, if there is one.
 * Internal to the kube room. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "operator/kube/identity.h"
#include "operator/kube/plugin.h"

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
    struct plugin *plugin; /* or NULL */
    int64_t expires_s;     /* what the plugin gave */
};

/* Reads the file into the field at once and remembers it. */
MUST_USE bool sources_add(struct identity *identity, const char *path, enum source_kind kind, size_t field,
                          struct err *err);
/* Runs it at once, and again when what it gave is about to expire. */
MUST_USE bool sources_take_plugin(struct identity *identity, struct plugin *plugin_take, struct err *err);
void sources_free(struct identity_sources *sources);
