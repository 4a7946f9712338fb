/* The SQL function row_checksum(value, ...): a CRC-32 over the types, lengths and bytes of its values. SQLite
 * checks the structure of its pages, not the contents of rows; any single flipped bit changes a CRC. */
#pragma once

#include <sqlite3.h>

/* An SQLite status. */
int row_checksum_register(sqlite3 *db);
