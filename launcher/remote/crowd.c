#include "launcher/remote/crowd.h"

#include <string.h>

static size_t count_alike(const struct crowd_member *members, size_t count, const struct crowd_member *one)
{
    size_t alike = 0;

    for (size_t i = 0; i < count; i++)
        alike += memcmp(members[i].address, one->address, sizeof(one->address)) == 0;
    return alike;
}

size_t crowd_choose(const struct crowd_member *members, size_t count)
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
