/* ipu-nopty.so: a library that makes openpty fail, preloaded into mpirun and its daemons alone. They connect
 * the output of each rank to a pseudoterminal if they can open one, and to a pipe otherwise (Open MPI
 * v4.1.4, orte/mca/iof/base/iof_base_setup.c; PRRTE v3.0.13, src/mca/iof/base/iof_base_setup.c). A pipe keeps
 * the boundaries of writes, a pseudoterminal does not. It uses nothing of any C library, so that it fits all
 * of them. */
#include <pty.h>

int openpty(int *master, int *slave, char *name, const struct termios *settings, const struct winsize *size)
{
    (void)master;
    (void)slave;
    (void)name;
    (void)settings;
    (void)size;
    return -1;
}
