/* ipu-nopty.so: a library that makes openpty fail in mpirun and its daemons. They connect the output of each
 * rank to a pseudoterminal if they can open one, and to a pipe otherwise (Open MPI v4.1.4,
 * orte/mca/iof/base/iof_base_setup.c; PRRTE v3.0.13, src/mca/iof/base/iof_base_setup.c). A pipe keeps the
 * boundaries of writes, a pseudoterminal does not. It is also loaded into the shell that starts mpirun, and
 * into what else that starts: there openpty is that of the system. It needs nothing of any C library, so that
 * it fits all of them: what it may find is weak. */
#include <pty.h>

typedef int (*openpty_fn)(int *, int *, char *, const struct termios *, const struct winsize *);

#define NEXT ((void *)-1L) /* RTLD_NEXT of every C library */

extern void *dlsym(void *handle, const char *name) __attribute__((weak));
/* What mpirun and its daemons are linked with: libopen-rte of version 4, libprrte of version 5. */
extern int orte_init(void) __attribute__((weak));
extern int prte_init(void) __attribute__((weak));

int openpty(int *master, int *slave, char *name, const struct termios *settings, const struct winsize *size)
{
    openpty_fn system_openpty;

    if (orte_init || prte_init || !dlsym)
        return -1;
    *(void **)&system_openpty = dlsym(NEXT, "openpty"); /* as POSIX has it */
    return system_openpty ? system_openpty(master, slave, name, settings, size) : -1;
}
