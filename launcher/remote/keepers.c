#include "launcher/remote/keepers.h"

#include <assert.h>
#include <signal.h>

#include "launcher/process/descend.h"

bool keepers_are_full(const struct keepers *keepers)
{
    return keepers->count == KEEPERS_MAX;
}

void keepers_add(struct keepers *keepers, pid_t pid, uint32_t attempt)
{
    assert(!keepers_are_full(keepers));
    keepers->items[keepers->count].pid = pid;
    keepers->items[keepers->count].attempt = attempt;
    keepers->count++;
}

bool keepers_remove(struct keepers *keepers, pid_t pid)
{
    for (size_t i = 0; i < keepers->count; i++)
        if (keepers->items[i].pid == pid) {
            keepers->items[i] = keepers->items[--keepers->count];
            return true;
        }
    return false;
}

bool keepers_have_older(const struct keepers *keepers, uint32_t attempt)
{
    for (size_t i = 0; i < keepers->count; i++)
        if (keepers->items[i].attempt < attempt)
            return true;
    return false;
}

void keepers_signal_older(const struct keepers *keepers, uint32_t attempt, int signal)
{
    for (size_t i = 0; i < keepers->count; i++)
        if (keepers->items[i].attempt < attempt)
            (void)kill(keepers->items[i].pid, signal);
}

void keepers_signal(const struct keepers *keepers, int signal)
{
    for (size_t i = 0; i < keepers->count; i++)
        (void)kill(keepers->items[i].pid, signal);
}

void keepers_sweep(const struct keepers *keepers, pid_t spared)
{
    pid_t all[KEEPERS_MAX + 1] = {spared};

    for (size_t i = 0; i < keepers->count; i++)
        all[i + 1] = keepers->items[i].pid;
    descend_signal(SIGKILL, all, keepers->count + 1);
}
