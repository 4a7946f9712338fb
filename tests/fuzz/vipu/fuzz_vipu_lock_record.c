/* The records beside device locks: another user of the host may have written anything. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "vipu/tools/devices/lock_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char record[LOCK_RECORD_BYTES] = "", again[LOCK_RECORD_BYTES];
    struct lock_record holder, back;

    memcpy(record, bytes, len < sizeof(record) ? len : sizeof(record));
    if (!lock_record_parse(record, &holder))
        return 0;
    assert(holder.count > 0 && holder.pid > 0);
    assert(!strpbrk(holder.user, "\t\n") && !strpbrk(holder.host, "\t\n") &&
           !strpbrk(holder.command, "\t\n"));
    lock_record_format(&holder, again);
    assert(lock_record_parse(again, &back) && strcmp(back.command, holder.command) == 0 &&
           back.pid == holder.pid);
    return 0;
}
