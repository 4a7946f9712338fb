#include "vipu/tools/devices/lock_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/str.h"

#define MAGIC "ipuof-holder-1"
#define FIELDS 10

void lock_record_set_text(char *slot, const char *text)
{
    size_t len = strnlen(text, LOCK_RECORD_TEXT_BYTES - 1);

    for (size_t i = 0; i < len; i++)
        slot[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
    slot[len] = '\0';
}

void lock_record_format(const struct lock_record *h, char record[LOCK_RECORD_BYTES])
{
    memset(record, 0, LOCK_RECORD_BYTES);
    (void)snprintf(
        record, LOCK_RECORD_BYTES,
        MAGIC "\t%" PRIu32 "\t%" PRIu32 "\t%" PRId64 "\t%" PRIu64 "\t%" PRId64 "\t%d\t%s\t%s\t%s\n", h->first,
        h->count, h->pid, h->pid_space, h->since_unix_s, h->monitored, h->user, h->host, h->command);
}

/* Splits in place; false unless there are exactly FIELDS. */
static bool split(char *line, char *fields[FIELDS])
{
    size_t count = 0;

    for (char *at = line; at; count++) {
        char *tab = strchr(at, '\t');

        if (count == FIELDS)
            return false;
        fields[count] = at;
        if (tab)
            *tab++ = '\0';
        at = tab;
    }
    return count == FIELDS;
}

bool lock_record_parse(const char record[LOCK_RECORD_BYTES], struct lock_record *ret)
{
    char line[LOCK_RECORD_BYTES];
    char *fields[FIELDS], *end;
    struct lock_record holder = {0};
    int64_t space;
    uint32_t monitored;

    memcpy(line, record, sizeof(line));
    end = memchr(line, '\n', sizeof(line));
    if (!end)
        return false;
    *end = '\0';
    if (!split(line, fields) || !str_eq(fields[0], MAGIC) ||
        !parse_u32(fields[1], 0, UINT32_MAX, &holder.first) ||
        !parse_u32(fields[2], 1, UINT32_MAX, &holder.count) ||
        !parse_i64(fields[3], 1, INT64_MAX, &holder.pid) || !parse_i64(fields[4], 0, INT64_MAX, &space) ||
        !parse_i64(fields[5], 0, INT64_MAX, &holder.since_unix_s) || !parse_u32(fields[6], 0, 1, &monitored))
        return false;
    holder.pid_space = (uint64_t)space;
    holder.monitored = monitored == 1;
    lock_record_set_text(holder.user, fields[7]);
    lock_record_set_text(holder.host, fields[8]);
    lock_record_set_text(holder.command, fields[9]);
    *ret = holder;
    return true;
}
