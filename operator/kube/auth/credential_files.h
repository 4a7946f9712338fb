/* The files behind a client configuration: which field each one fills, and whether it changed since it was
 * read; and a credential plugin, if there is one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/core/err.h"
#include "operator/kube/auth/client_config.h"
#include "operator/kube/auth/exec_plugin.h"

enum source_kind {
    SOURCE_TOKEN, /* blanks around it are dropped; new tokens need no new connections */
    SOURCE_PEM,   /* a certificate or key: new connections */
};

struct credential_file {
    char *path;
    enum source_kind kind;
    size_t field; /* offset of the char * in struct client_config */
    struct stat seen;
};

struct credential_files {
    struct credential_file *items;
    size_t count;
    struct exec_plugin *exec_plugin; /* or NULL */
    int64_t expires_s;               /* what the plugin gave */
};

/* Reads the file into the field at once and remembers it. */
MUST_USE bool credential_files_add(struct client_config *config, const char *path, enum source_kind kind,
                                   size_t field, struct err *err);
/* Runs it at once, and again when what it gave is about to expire. */
MUST_USE bool credential_files_set_exec_plugin(struct client_config *config,
                                               struct exec_plugin *exec_plugin_take, struct err *err);
/* Reads the files again whose change time differs (all of them if `force`). True also if nothing changed; on
 * failure the old values stay. Compare `generation` before and after. */
MUST_USE bool credential_files_refresh(struct client_config *config, bool force, struct err *err);
void credential_files_free(struct credential_files *sources);
