/* Open MPI's directory for temporary files of mpirun, or of its daemon on another host. They remove it
 * themselves, unless they are killed. */
#pragma once

#include <sys/types.h>

/* The directory that Open MPI passed to an instance; a directory with any other name is left alone. */
void session_dir_remove(const char *path);
/* The directory of an mpirun on this host, in the folder for temporary files. */
void session_dir_remove_local(const char *folder, pid_t mpirun);
