#include "vipu/tools/discovery/name_list.h"

void name_list_join(const struct strv *names, struct str *out)
{
    const char *last = NULL;
    size_t different = 0;

    for (size_t i = 0; i < names->count; i++) {
        if (str_eq(names->items[i], last))
            continue;
        last = names->items[i];
        if (different++ < NAMES_SHOWN)
            str_addf(out, "%s%s", out->len ? ", " : "", last);
    }
    if (different > NAMES_SHOWN)
        str_addf(out, " and %zu more", different - NAMES_SHOWN);
}
