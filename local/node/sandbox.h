/* What a container sees of this machine: its file system with the pod's volumes mounted into it, and the
 * pod's host name. Namespaces of the kernel (user_namespaces(7), mount_namespaces(7)) give that to any user,
 * without root. Network and processes are the machine's own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/mem.h"

struct sandbox_mount {
    char *source, *target; /* absolute */
    bool read_only;
};

struct sandbox {
    char *root; /* an empty directory, where the file system is put together */
    char *hostname;
    struct sandbox_mount *mounts;
    size_t count;
};

void sandbox_add(struct sandbox *sandbox, const char *source, const char *target, bool read_only);
void sandbox_release(struct sandbox *sandbox);
DEFINE_AUTO(sandbox);
/* Whether this machine lets its users have sandboxes; why not, and what to do. */
MUST_USE bool sandbox_is_allowed(struct err *err);
/* Moves this process, which has one thread, into the sandbox for good. */
MUST_USE bool sandbox_enter(const struct sandbox *sandbox, struct err *err);
