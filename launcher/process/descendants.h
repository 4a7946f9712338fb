/* Every descendant of this process, including those whose parents are gone: the caller is their subreaper.
 * Processes that have left their process group or session are found in /proc. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Sends SIGTERM, waits for grace_ms, then sends SIGKILL; returns when none is left. */
void descendants_kill(int grace_ms);
/* To all current descendants, except for these children and theirs. */
void descendants_signal(int signal, const pid_t *except, size_t except_count);
bool descendants_become_subreaper(void); /* makes this process the parent of orphaned descendants */
