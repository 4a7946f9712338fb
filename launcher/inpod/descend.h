/* Every process below this one, those too whose parents are gone: the caller is their subreaper. Whoever
 * leaves a process group or a session is still found, by /proc. */
#pragma once

#include <stdbool.h>

/* Asks with SIGTERM, waits for patience_ms, then ends with SIGKILL; returns when none is left. */
void descend_end(int patience_ms);
void descend_signal(int signal); /* to all that are there now */
bool descend_reaper(void);       /* makes this process the parent of orphans below it */
