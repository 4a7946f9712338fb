/* The jobs that a look at the queue decides about: the first ones of all that claim IPUs. So a look takes the
 * same time however many jobs wait. Those behind are told so, and come in as others start.
 *
 * The first jobs are found by a walk in slices of the loop's time. Half of them are the first of each group
 * of namespaces and V-IPU controllers, so that neither the crowd of one namespace nor jobs that wait for
 * another controller keep a job out. Jobs that have just begun to claim IPUs, and those that are granted
 * some, are in it, too.
 *
 * The walk counts all instances that wait, so that it also finds the jobs for which there is no place. */
#pragma once

#include "operator/reconcile/state/reconciler_state.h"

#define CLAIM_WINDOW_JOBS 1000u
#define CLAIM_WINDOW_NEW 250u  /* after so many more, the first ones are found again */
#define CLAIM_WINDOW_MAX 1500u /* with more, the next look waits for that: it would take 5 ms */

/* The job begins to claim IPUs, or claims others. */
void claim_window_add(struct reconciler *r, struct job_cache *cache);
/* Its claims or what it asks for may have changed; nothing if it claims no IPUs. */
void claim_window_note(struct reconciler *r, struct job_cache *cache);
void claim_window_remove(struct reconciler *r, const char *uid);
/* The first jobs are found: what walks all of the window takes a short time. */
static inline bool claim_window_is_found(const struct claim_window *window)
{
    return window->jobs.count <= CLAIM_WINDOW_MAX;
}
/* No search goes on, and no look is due. */
void claim_window_stop(struct claim_window *window);
/* Before a look. False: it has to wait until the first jobs are found, and is due then. */
bool claim_window_is_ready(struct reconciler *r);
void claim_window_release(struct claim_window *window);
