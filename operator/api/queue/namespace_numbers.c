#include "operator/api/queue/namespace_numbers.h"

#include <string.h>

#include "base/core/mem.h"

#define NAME_MAX_BYTES 63
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789-"

static bool is_name(const char *text)
{
    size_t len = strlen(text);

    return str_eq(text, NAMESPACE_NUMBERS_OTHERS) ||
           (len && len <= NAME_MAX_BYTES && strspn(text, NAME_CHARACTERS) == len);
}

static bool read_one(const char *entry, struct namespace_numbers *ret)
{
    const char *equals = strchr(entry, '=');
    AUTO(mem) char *name = equals ? mem_strndup(entry, (size_t)(equals - entry)) : NULL;
    uint32_t number;

    if (!name || !is_name(name) || !parse_u32(equals + 1, 0, INT32_MAX, &number))
        return false;
    return !map_set(&ret->of, name, (void *)((uintptr_t)number + 1)); /* a number, not a pointer */
}

void namespace_numbers_read(const char *text, const char *where, struct namespace_numbers *ret,
                            struct strv *problems)
{
    AUTO(strv) struct strv entries = {0};

    strv_split(text, ',', &entries);
    for (size_t i = 0; i < entries.count; i++) {
        if (!read_one(entries.items[i], ret))
            strv_pushf(problems,
                       "%s: must list each namespace once, as NAMESPACE=NUMBER with * for all others, got "
                       "\"%s\"",
                       where, entries.items[i]);
    }
}

void namespace_numbers_release(struct namespace_numbers *numbers)
{
    map_release(&numbers->of);
}

uint32_t namespace_numbers_get(const struct namespace_numbers *numbers, const char *ns)
{
    uintptr_t own = (uintptr_t)map_get(&numbers->of, ns);

    if (!own)
        own = (uintptr_t)map_get(&numbers->of, NAMESPACE_NUMBERS_OTHERS);
    return own ? (uint32_t)(own - 1) : 0;
}
