/* Everything that a configuration names, read from disk: the file itself, the access keys and the
 * certificate, and the command-line options that override it. Read at the start and again on SIGHUP: either
 * all of it is valid, or every mistake is reported. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/server/config/config.h"

struct tls_context;

struct setup_source {
    const char *path;   /* NULL: the default configuration */
    const char *listen; /* these three override the configuration; NULL and false: not given */
    const char *storage;
    bool secure;
};

struct setup {
    struct server_config config;
    struct tls_context *tls; /* NULL: cleartext */
};

/* False: `problems` has one sentence per mistake, and nothing is returned. */
MUST_USE bool setup_read(const struct setup_source *source, struct setup *ret, struct strv *problems);
void setup_release(struct setup *setup);
