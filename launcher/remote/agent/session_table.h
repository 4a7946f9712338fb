/* The processes of an agent's remote commands, each with the attempt that it belongs to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define KEEPERS_MAX 64u

struct session_table {
    struct {
        pid_t pid;
        uint32_t attempt;
    } items[KEEPERS_MAX];
    size_t count;
};

bool session_table_is_full(const struct session_table *table);
void session_table_add(struct session_table *table, pid_t pid,
                       uint32_t attempt);                          /* not if the table is full */
bool session_table_remove(struct session_table *table, pid_t pid); /* false: it is not in the table */

bool session_table_has_older(const struct session_table *table, uint32_t attempt);
void session_table_signal_older(const struct session_table *table, uint32_t attempt, int signal);
void session_table_signal(const struct session_table *table, int signal);
/* Kills all descendants of this process except sessions, `except` and their descendants: what a dead
 * session's command has left behind has no other parent. */
void session_table_kill_strays(const struct session_table *table, pid_t except);
