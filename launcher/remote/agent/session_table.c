#include "launcher/remote/agent/session_table.h"

#include <assert.h>
#include <signal.h>

#include "launcher/process/descendants.h"

bool session_table_is_full(const struct session_table *session_table)
{
    return session_table->count == KEEPERS_MAX;
}

void session_table_add(struct session_table *session_table, pid_t pid, uint32_t attempt)
{
    assert(!session_table_is_full(session_table));
    session_table->items[session_table->count].pid = pid;
    session_table->items[session_table->count].attempt = attempt;
    session_table->count++;
}

bool session_table_remove(struct session_table *session_table, pid_t pid)
{
    for (size_t i = 0; i < session_table->count; i++)
        if (session_table->items[i].pid == pid) {
            session_table->items[i] = session_table->items[--session_table->count];
            return true;
        }
    return false;
}

bool session_table_has_older(const struct session_table *session_table, uint32_t attempt)
{
    for (size_t i = 0; i < session_table->count; i++)
        if (session_table->items[i].attempt < attempt)
            return true;
    return false;
}

void session_table_signal_older(const struct session_table *session_table, uint32_t attempt, int signal)
{
    for (size_t i = 0; i < session_table->count; i++)
        if (session_table->items[i].attempt < attempt)
            (void)kill(session_table->items[i].pid, signal);
}

void session_table_signal(const struct session_table *session_table, int signal)
{
    for (size_t i = 0; i < session_table->count; i++)
        (void)kill(session_table->items[i].pid, signal);
}

void session_table_kill_strays(const struct session_table *session_table, pid_t spared)
{
    pid_t all[KEEPERS_MAX + 1] = {spared};

    for (size_t i = 0; i < session_table->count; i++)
        all[i + 1] = session_table->items[i].pid;
    descendants_signal(SIGKILL, all, session_table->count + 1);
}
