#include "operator/api/leader_note.h"

#include <string.h>

#include "base/core/str.h"

char *leader_note_print(uint32_t largest_partition, const char *waiting, const char *key)
{
    return mem_printf("%u;%s %s", largest_partition, waiting, key);
}

/* The parts of its first word: the largest partition, the number of all, and those of namespaces. */
static void read_numbers(const char *note, struct strv *ret)
{
    AUTO(mem) char *word = mem_strndup(note ? note : "", note ? strcspn(note, " ") : 0);

    strv_split(word, ';', ret);
}

uint32_t leader_note_largest_partition(const char *note)
{
    AUTO(strv) struct strv parts = {0};
    uint32_t ipus = 0;

    read_numbers(note, &parts);
    return parts.count && parse_u32(parts.items[0], 0, UINT32_MAX, &ipus) ? ipus : 0;
}

void leader_note_read_waiting(const char *note, const char *ns, uint32_t *ret_in_namespace,
                              uint32_t *ret_total)
{
    AUTO(strv) struct strv parts = {0};
    AUTO(mem) char *prefix = mem_printf("%s=", ns);

    *ret_in_namespace = *ret_total = 0;
    read_numbers(note, &parts);
    if (parts.count > 1)
        (void)parse_u32(parts.items[1], 0, UINT32_MAX, ret_total);
    for (size_t i = 2; i < parts.count; i++) {
        if (str_has_prefix(parts.items[i], prefix))
            (void)parse_u32(parts.items[i] + strlen(prefix), 0, UINT32_MAX, ret_in_namespace);
    }
}

const char *leader_note_key(const char *note)
{
    const char *space = note ? strchr(note, ' ') : NULL;

    return space && space[1] ? space + 1 : NULL;
}
