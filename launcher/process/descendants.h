/* Every process below this one, those too whose parents are gone: the caller is their subreaper. Whoever
 * leaves a process group or a session is still found, by /proc. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Asks with SIGTERM, waits for patience_ms, then ends with SIGKILL; returns when none is left. */
void descendants_kill(int patience_ms);
/* To all that are there now, but for these children and what is below them. */
void descendants_signal(int signal, const pid_t *spared, size_t spared_count);
bool descendants_become_subreaper(void); /* makes this process the parent of orphans below it */
