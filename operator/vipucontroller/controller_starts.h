/* When new jobs of each size would start at each V-IPU controller: asked of the engine in the background, for
 * each controller at most once a minute. Together with the forecasts of jobs that takes at most 1 % of a
 * processor. */
#pragma once

#include <stddef.h>

struct controller_start;
struct controller_starts;
struct loop;
struct reconciler;

struct controller_starts *controller_starts_new(struct loop *loop, struct reconciler *reconciler);
/* By size; 0: not known yet. Borrowed until the loop's next turn. */
const struct controller_start *controller_starts_of(const struct controller_starts *starts, size_t controller,
                                                    size_t *ret_count);
void controller_starts_free(struct controller_starts *starts); /* accepts NULL */
