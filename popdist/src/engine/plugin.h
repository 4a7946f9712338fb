/* Loads a backend's library. */
#ifndef POPDIST_PLUGIN_H
#define POPDIST_PLUGIN_H

#include "popdist/backend.h"

/* The library stays loaded for the rest of the process: MPI does not survive being unloaded. */
enum popdist_status plugin_load(const char *path, const struct popdist_backend **ret,
                                struct popdist_error *error);
/* The Open MPI backend, in the folder of this library. */
enum popdist_status plugin_load_default(const struct popdist_backend **ret, struct popdist_error *error);

#endif
