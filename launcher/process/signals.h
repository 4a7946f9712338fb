/* Signals of this process. The launcher installs no handlers: all signals are blocked and read one at a
 * time, so that none is lost before the command runs, and so that process 1, to which the kernel does not
 * deliver signals without a handler, receives them too. The command starts with the signal mask that the
 * launcher was started with. */
#pragma once

#include <signal.h>
#include <stdint.h>

struct signals {
    sigset_t mask; /* as inherited */
    struct sigaction child;
};

void signals_block(struct signals *ret_inherited);
void signals_restore(const struct signals *inherited); /* in the child, before exec */

/* The next signal; 0 if deadline_ms (signals_now_ms) has passed first. A negative deadline never passes. */
int signals_next(int64_t deadline_ms);
int64_t signals_now_ms(void);

/* Stops the whole process group as a terminal's stop key does, and returns when it is continued. Returns at
 * once where the kernel does not allow it because no process could continue it: process 1, a session of its
 * own. */
void signals_stop_group(void);
