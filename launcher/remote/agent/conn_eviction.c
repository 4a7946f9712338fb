#include "launcher/remote/agent/conn_eviction.h"

#include <string.h>

static bool goes_before(const struct conn_origin *a, size_t alike_a, const struct conn_origin *b,
                        size_t alike_b)
{
    if (a->has_key != b->has_key)
        return b->has_key;
    return alike_a > alike_b || (alike_a == alike_b && a->number < b->number);
}

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

        if (i == 0 || goes_before(&members[i], alike, &members[chosen], most)) {
            most = alike;
            chosen = i;
        }
    }
    return chosen;
}
