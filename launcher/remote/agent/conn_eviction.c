#include "launcher/remote/agent/conn_eviction.h"

#include <string.h>

static size_t count_alike(const struct conn_origin *members, size_t count, const struct conn_origin *one)
{
    size_t alike = 0;

    for (size_t i = 0; i < count; i++)
        alike += memcmp(members[i].address, one->address, sizeof(one->address)) == 0;
    return alike;
}

size_t conn_eviction_pick(const struct conn_origin *members, size_t count)
{
    size_t chosen = 0, most = 0;

    for (size_t i = 0; i < count; i++) {
        size_t alike = count_alike(members, count, &members[i]);

        if (alike > most || (alike == most && members[i].number < members[chosen].number)) {
            most = alike;
            chosen = i;
        }
    }
    return chosen;
}
