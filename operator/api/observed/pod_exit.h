/* How a pod's failed container ended: by which signal, and in words. Pure. */
#pragma once

#include "operator/api/observed/pod.h"

/* The signal that ended its program; 0: none did. Shells and runtimes report a signal as 128 + its number; a
 * higher code is the program's own, such as the 255 of exit(-1). */
int pod_exit_signal(const struct pod *pod);
/* "exited with code 3", "was killed by SIGSEGV": an exit status of a program. Owned by the caller. */
char *pod_exit_describe_status(int exit_code, int signal);
/* The same of the pod's failed container, with the code that restartPolicy.exitCodes is compared with. */
char *pod_exit_describe(const struct pod *pod);
