#include "launcher/remote/agent/session_table.h"

#include <assert.h>
#include <signal.h>

#include "launcher/process/descendants.h"

bool session_table_is_full(const struct session_table *table)
{
    return table->count == KEEPERS_MAX;
}

void session_table_add(struct session_table *table, pid_t pid, uint32_t attempt)
{
    assert(!session_table_is_full(table));
    table->items[table->count].pid = pid;
    table->items[table->count].attempt = attempt;
    table->count++;
}

bool session_table_remove(struct session_table *table, pid_t pid)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].pid == pid) {
            table->items[i] = table->items[--table->count];
            return true;
        }
    return false;
}

bool session_table_has_older(const struct session_table *table, uint32_t attempt)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].attempt < attempt)
            return true;
    return false;
}

void session_table_signal_older(const struct session_table *table, uint32_t attempt, int signal)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].attempt < attempt)
            (void)kill(table->items[i].pid, signal);
}

void session_table_signal(const struct session_table *table, int signal)
{
    for (size_t i = 0; i < table->count; i++)
        (void)kill(table->items[i].pid, signal);
}

void session_table_kill_strays(const struct session_table *table, pid_t except)
{
    pid_t all[KEEPERS_MAX + 1] = {except};

    for (size_t i = 0; i < table->count; i++)
        all[i + 1] = table->items[i].pid;
    descendants_signal(SIGKILL, all, table->count + 1);
}
