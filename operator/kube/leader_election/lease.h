/* Who may write: one Lease object (coordination.k8s.io/v1) held by one process. A lease is ours until 15 s
 * after the last successful renewal was *sent*, on CLOCK_BOOTTIME; we stop working after 10 s without one.
 * Another holder's lease is judged by the time since we last saw it change, never by its timestamps. Uses a
 * connection of its own. Who stands by looks every 250 ms: it leads within a second of the holder's clean
 * end, and within 16 s of its death.
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
    const char
        *address;       /* "host:port" where others find this process, told with the holder's name; or NULL */
    const char *holder; /* NULL: host name and random digits, unique per process. Strings are copied. */
    int64_t duration_ms;       /* 0: 15000 */
    int64_t renew_deadline_ms; /* 0: 10000 */
    int64_t retry_ms;          /* 0: 2000 */
    void (*on_started)(void *ctx);
    void (*on_lost)(void *ctx);
    void *ctx;
};

struct lease *lease_new(struct kube *kube, const struct lease_options *options); /* starts at the next turn */
void lease_free(struct lease *lease);                                            /* without giving it back */

/* For the check right before a write: lease_is_held(lease, loop_clock_ms()). */
bool lease_is_held(const struct lease *lease, int64_t clock_ms);
const char *lease_holder(const struct lease *lease);      /* our own identity */
const char *lease_seen_holder(const struct lease *lease); /* who held it when we last looked; NULL: nobody */
/* Where another holder is found; NULL: there is none, or it does not tell. */
const char *lease_other_address(const struct lease *lease);
/* False when we believe we lead but could not renew for lease + slack: for /healthz. */
bool lease_is_healthy(const struct lease *lease, int64_t clock_ms);
/* False when neither we have it nor saw for as long as it lasts that another has: for /readyz. Who cannot
 * read it cannot follow a leader, and who cannot write it neither. */
bool lease_is_known(const struct lease *lease, int64_t clock_ms);

/* Clean exit: stop renewing, give the lease back if it is ours, then call done (at most about 2 s later,
 * whatever the API server does). on_lost is not called. */
void lease_release(struct lease *lease, void (*done)(void *ctx), void *ctx);
