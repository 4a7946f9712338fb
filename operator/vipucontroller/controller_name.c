#include "operator/vipucontroller/controller_name.h"

#include <ctype.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/api/names.h"

/* Of the hash with its dash. */
enum { HASH_CHARACTERS = 9 };

static char *plain_name(const char *address)
{
    AUTO(str) struct str out = {0};

    for (const char *p = address; *p; p++) {
        if (isalnum((unsigned char)*p))
            str_addc(&out, (char)tolower((unsigned char)*p));
        else if (out.len)
            str_addc(&out, '-');
    }
    return str_take(&out);
}

static bool is_unique(const struct pool_config *config, size_t index, const char *name)
{
    for (size_t i = 0; i < config->count; i++) {
        AUTO(mem) char *other = plain_name(config->items[i].name);

        if (i != index && str_eq(name, other))
            return false;
    }
    return true;
}

char *controller_name(const struct pool_config *config, size_t index, bool is_hidden)
{
    const char *address = config->items[index].name;
    AUTO(mem) char *name = plain_name(address);
    uint32_t hash = (uint32_t)str_hash(address);

    if (is_hidden)
        return mem_printf("vipu-%08x", hash);
    if (strlen(name) <= LABEL_MAX && is_unique(config, index, name))
        return mem_strdup(name);
    return mem_printf("%.*s-%08x", LABEL_MAX - HASH_CHARACTERS, name, hash);
}
