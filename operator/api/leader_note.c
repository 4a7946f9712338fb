#include "operator/api/leader_note.h"

#include <string.h>

#include "base/core/str.h"

char *leader_note_print(uint32_t largest_partition, const char *key)
{
    return mem_printf("%u %s", largest_partition, key);
}

uint32_t leader_note_largest_partition(const char *note)
{
    AUTO(strv) struct strv words = {0};
    uint32_t ipus = 0;

    strv_split(note ? note : "", ' ', &words);
    return words.count && parse_u32(words.items[0], 0, UINT32_MAX, &ipus) ? ipus : 0;
}

const char *leader_note_key(const char *note)
{
    const char *space = note ? strchr(note, ' ') : NULL;

    return space && space[1] ? space + 1 : NULL;
}
