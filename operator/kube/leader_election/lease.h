/* Leader election: one Lease object (coordination.k8s.io/v1) held by one process. A process holds the lease
 * until 15 s after the last successful renewal was *sent*, on CLOCK_BOOTTIME, and stops working after 10 s
 * without one. Another holder's lease expires by the time since it was last seen to change, never by
 * its timestamps. Uses a connection of its own. A standby checks every 250 ms: it leads within a second after
 * the holder's clean exit, and within 16 s after its crash.
 *
 * on_started may come again after on_lost. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct kube;
struct lease;

struct lease_options {
    const char *ns;
    const char *name;
    const char *address;      /* "host:port" of this process, published with the holder's name; or NULL */
    char *(*note)(void *ctx); /* what this process tells the others while it holds the lease; the lease frees
                                 it; NULL: nothing */
    const char *holder;       /* NULL: host name and random digits, unique per process. Strings are copied. */
    int64_t duration_ms;      /* 0: 15000 */
    int64_t renew_deadline_ms; /* 0: 10000 */
    int64_t retry_ms;          /* 0: 2000 */
    void (*on_started)(void *ctx);
    void (*on_lost)(void *ctx);
    void *ctx;
};

struct lease *lease_new(struct kube *kube, const struct lease_options *options); /* starts at the next turn */
void lease_free(struct lease *lease);                                            /* without releasing it */

/* For the check right before a write: lease_is_held(lease, loop_clock_ms()). */
bool lease_is_held(const struct lease *lease, int64_t clock_ms);
const char *lease_holder(const struct lease *lease);      /* identity of this process */
const char *lease_seen_holder(const struct lease *lease); /* last observed holder; NULL if none */
/* Address of another holder; NULL if there is none, or it has none. */
const char *lease_other_address(const struct lease *lease);
/* What another holder tells this process; NULL likewise. */
const char *lease_other_note(const struct lease *lease);
/* False if this process leads but has not renewed for longer than the lease and its slack: for /healthz. */
bool lease_is_healthy(const struct lease *lease, int64_t clock_ms);
/* False if this process does not hold the lease and has seen no other holder for the duration of a lease: for
 * /readyz. */
bool lease_is_known(const struct lease *lease, int64_t clock_ms);

/* Clean exit: stops renewing, releases the lease if this process holds it, then calls done (at most about 2 s
 * later, whatever the API server does). on_lost is not called. */
void lease_release(struct lease *lease, void (*done)(void *ctx), void *ctx);
