#include "vipu/server/storage/row_checksum.h"

#include <stdint.h>
#include <zlib.h>

/* Integers count as their decimal text. */
static uLong add_value(uLong sum, sqlite3_value *value)
{
    unsigned char head[5] = {(unsigned char)sqlite3_value_type(value)};
    const unsigned char *bytes = sqlite3_value_blob(value);
    uint32_t len = (uint32_t)sqlite3_value_bytes(value);

    for (unsigned i = 0; i < 4; i++)
        head[1 + i] = (unsigned char)(len >> (8 * i));
    sum = crc32(sum, head, sizeof(head));
    return len > 0 ? crc32(sum, bytes, len) : sum;
}

static void row_checksum(sqlite3_context *ctx, int count, sqlite3_value **values)
{
    uLong sum = crc32(0, NULL, 0);

    for (int i = 0; i < count; i++)
        sum = add_value(sum, values[i]);
    sqlite3_result_int64(ctx, (sqlite3_int64)sum);
}

int row_checksum_register(sqlite3 *db)
{
    return sqlite3_create_function(db, "row_checksum", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                   row_checksum, NULL, NULL);
}
