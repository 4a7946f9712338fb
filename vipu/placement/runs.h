/* Runs: consecutive members of a set of domains, which is one bit per domain in an array of words. Lengths
 * are powers of two. Pure arithmetic on the caller's sets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Keeps the domains where `length` consecutive members start; false if there is none. */
bool vipu_runs_keep_begins(uint64_t *set, size_t words, uint32_t length);
/* Keeps the members of runs of at least that length. */
void vipu_runs_keep_long(uint64_t *set, size_t words, uint32_t length);
/* How many runs of that length fit next to each other, given what vipu_runs_keep_begins has kept. */
uint32_t vipu_runs_count(const uint64_t *begins, size_t words, uint32_t length);
