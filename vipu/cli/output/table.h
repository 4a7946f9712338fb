/* Tables as vipu prints them: cells joined by " | ", a rule above and below the rows. Scripts cut them at
 * '|', so each cell after the first starts with exactly one space. Pure. */
#pragma once

#include <stddef.h>

#include "base/core/str.h"

struct table {
    struct strv cells; /* row by row, the heading first */
    size_t columns;
};

void table_init(struct table *table, const char *const *heading); /* ends with NULL */
void table_add(struct table *table, const char *cell);            /* from left to right, row by row */
void table_addf(struct table *table, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void table_add_pair(struct table *table, const char *key, const char *value); /* a row of two cells */
void table_add_number(struct table *table, const char *key, size_t value);
void table_print(const struct table *table, struct str *out);
void table_release(struct table *table);
DEFINE_AUTO(table);
