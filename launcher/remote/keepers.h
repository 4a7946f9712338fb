/* The processes that keep an agent's remote commands, each with the attempt that it belongs to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define KEEPERS_MAX 64u

struct keepers {
    struct {
        pid_t pid;
        uint32_t attempt;
    } items[KEEPERS_MAX];
    size_t count;
};

bool keepers_are_full(const struct keepers *keepers);
void keepers_add(struct keepers *keepers, pid_t pid, uint32_t attempt); /* not when they are full */
bool keepers_remove(struct keepers *keepers, pid_t pid);                /* false: it is none of them */

bool keepers_have_older(const struct keepers *keepers, uint32_t attempt);
void keepers_signal_older(const struct keepers *keepers, uint32_t attempt, int signal);
void keepers_signal(const struct keepers *keepers, int signal);
/* Kills all below this process but the keepers, `spared` and what is below those: nobody knows any more what
 * a dead keeper's command has left behind. */
void keepers_sweep(const struct keepers *keepers, pid_t spared);
