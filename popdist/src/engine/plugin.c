#include "popdist/src/engine/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "popdist/src/core/fail.h"

#define DEFAULT_NAME "libpopdist_mpi.so"

static bool is_complete(const struct popdist_backend *backend)
{
    return backend && backend->abi == POPDIST_BACKEND_ABI && backend->name && backend->open &&
           backend->close && backend->instances && backend->index && backend->send && backend->receive &&
           backend->test && backend->take;
}

enum popdist_status plugin_load(const char *path, const struct popdist_backend **ret,
                                struct popdist_error *error)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    popdist_backend_fn entry;
    const struct popdist_backend *backend;

    if (!library)
        return fail(error, POPDIST_UNAVAILABLE, "cannot load the backend: %.800s", dlerror());
    /* POSIX guarantees that an object pointer can hold a function's address; C does not. */
    *(void **)(void *)&entry = dlsym(library, POPDIST_BACKEND_SYMBOL);
    backend = entry ? entry() : NULL;
    if (!is_complete(backend))
        return fail(error, POPDIST_UNAVAILABLE,
                    "%.500s is not a PopDist backend of version %d: it must export %s() as described in "
                    "popdist/backend.h",
                    path, POPDIST_BACKEND_ABI, POPDIST_BACKEND_SYMBOL);
    *ret = backend;
    return POPDIST_OK;
}

enum popdist_status plugin_load_default(const struct popdist_backend **ret, struct popdist_error *error)
{
    static const char anchor;
    char path[PATH_MAX];
    Dl_info here;
    const char *slash;
    int length;

    if (!dladdr(&anchor, &here) || !here.dli_fname)
        return fail(error, POPDIST_UNAVAILABLE, "cannot find the directory of the PopDist library");
    slash = strrchr(here.dli_fname, '/');
    length = snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - here.dli_fname + 1) : 0,
                      here.dli_fname, DEFAULT_NAME);
    if (length < 0 || (size_t)length >= sizeof path)
        return fail(error, POPDIST_UNAVAILABLE, "the path of the PopDist library is too long");
    /* Without a shared PopDist (linked into the program) there is no such folder: the loader's search path
     * applies. */
    if (access(path, F_OK) == 0)
        return plugin_load(path, ret, error);
    if (!dlopen(DEFAULT_NAME, RTLD_NOW | RTLD_LOCAL))
        return fail(error, POPDIST_UNAVAILABLE,
                    "%.700s is missing: this PopDist was built without Open MPI; install Open MPI with its "
                    "development "
                    "files (Debian: openmpi-bin libopenmpi-dev) and build PopDist again",
                    path);
    return plugin_load(DEFAULT_NAME, ret, error);
}
