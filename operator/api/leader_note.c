#include "operator/api/leader_note.h"

#include <string.h>

#include "base/core/str.h"

char *leader_note_print(uint32_t largest_partition, const char *counts, const char *key)
{
    return mem_printf("%u;%s %s", largest_partition, counts, key);
}

/* The parts of its first word: the largest partition, the number of all, and those of namespaces: "team-a=8"
 * instances, "team-a:64" KiB. */
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

/* The number behind "NAMESPACE=" or "NAMESPACE:"; 0: it is not that part. */
static uint32_t number_of(const char *part, const char *ns, char sign)
{
    size_t len = strlen(ns);
    uint32_t number = 0;

    if (str_has_prefix(part, ns) && part[len] == sign)
        (void)parse_u32(part + len + 1, 0, UINT32_MAX, &number);
    return number;
}

void leader_note_read_counts(const char *note, const char *ns, uint32_t *ret_in_namespace,
                             uint32_t *ret_total, uint32_t *ret_template_kib)
{
    AUTO(strv) struct strv parts = {0};

    *ret_in_namespace = *ret_total = *ret_template_kib = 0;
    read_numbers(note, &parts);
    if (parts.count > 1)
        (void)parse_u32(parts.items[1], 0, UINT32_MAX, ret_total);
    for (size_t i = 2; i < parts.count; i++) {
        *ret_in_namespace += number_of(parts.items[i], ns, '=');
        *ret_template_kib += number_of(parts.items[i], ns, ':');
    }
}

const char *leader_note_key(const char *note)
{
    const char *space = note ? strchr(note, ' ') : NULL;

    return space && space[1] ? space + 1 : NULL;
}
