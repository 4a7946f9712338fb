/* What namespaces have used: IPU-seconds, of which a half is left after each half-life. A run is charged when
 * it has ended; what still runs is added by the plan. Pure. */
#pragma once

#include "base/core/str.h"

/* Those that have used least are forgotten first. */
#define USAGE_NAMESPACES_MAX 1000u

struct usage_account {
    uint64_t ns; /* str_hash of the namespace's name */
    double ipu_s;
};

struct usage {
    int64_t half_life_s; /* 0: nothing is noted, and nothing decays */
    int64_t as_of_s;     /* of all accounts */
    struct usage_account accounts[USAGE_NAMESPACES_MAX];
    uint32_t count;
};

/* A run on so many IPUs has ended. A time that cannot be true, because a clock has jumped, is not noted. */
void usage_note(struct usage *usage, const char *ns, uint32_t ipus, int64_t seconds, int64_t now_s);
/* IPU-seconds that are left of it now. */
uint64_t usage_of(const struct usage *usage, const char *ns, int64_t now_s);
uint64_t usage_total(const struct usage *usage, int64_t now_s); /* the sum over all namespaces */

/* A line for each namespace, without its name, as of as_of_s. */
void usage_write(const struct usage *usage, struct str *text);
/* Takes for each namespace what was written, or what it has, if that is more. Returns how many lines no
 * operator has written. */
size_t usage_read(struct usage *usage, const char *text, int64_t as_of_s);
