/* What a run has made and must take away: a directory, a partition. The note of it is in memory that the
 * guard shares with the runner, so that either one can clean up when the other was killed. A thing is noted
 * before it is made and forgotten after it is gone; removing what is not there is no failure. */
#pragma once

#include <stdbool.h>

#include "launcher/poprun/journal.h"
#include "vipu/client/endpoint.h"

struct leftovers {
    char cache_dir[4096]; /* "" when there is none */
    char partition[256];
};

struct leftovers *leftovers_new(void); /* shared with children; never freed: it is the run's own */
void leftovers_note(char *place, size_t size, const char *text);
void leftovers_remove(struct leftovers *left, const struct vipu_endpoint *endpoint, uint32_t timeout_s,
                      const struct journal *journal);
