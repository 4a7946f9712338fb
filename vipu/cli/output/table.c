#include "vipu/cli/output/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/visible.h"

#define RULE_MAX 120u /* a cell of an allocation may list thousands of agents */

void table_init(struct table *table, const char *const *heading)
{
    *table = (struct table){0};
    for (; *heading; heading++) {
        table_add(table, *heading);
        table->columns++;
    }
}

/* A '|' or a control character inside a cell would look like another cell or line. */
void table_add(struct table *table, const char *cell)
{
    char *text = visible_new(cell, VISIBLE_LINE);

    for (char *c = text; *c; c++)
        if (*c == '|')
            *c = '?';
    strv_push_take(&table->cells, text);
}

void table_addf(struct table *table, const char *fmt, ...)
{
    char text[128];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    table_add(table, text);
}

void table_add_pair(struct table *table, const char *key, const char *value)
{
    table_add(table, key);
    table_add(table, value);
}

void table_add_number(struct table *table, const char *key, size_t value)
{
    table_add(table, key);
    table_addf(table, "%zu", value);
}

static size_t width_of(const struct table *table, size_t column)
{
    size_t width = 0;

    for (size_t i = column; i < table->cells.count; i += table->columns) {
        size_t len = strlen(table->cells.items[i]);

        width = len > width ? len : width;
    }
    return width;
}

static void print_row(const struct table *table, const size_t *widths, size_t first, struct str *out)
{
    for (size_t column = 0; column < table->columns; column++) {
        const char *cell = table->cells.items[first + column];
        bool is_last = column + 1 == table->columns;

        if (is_last)
            str_addf(out, "%s\n", cell);
        else
            str_addf(out, "%-*s | ", (int)widths[column], cell);
    }
}

static void print_rule(const struct table *table, const size_t *widths, struct str *out)
{
    size_t width = 3 * table->columns - 1;

    for (size_t column = 0; column < table->columns; column++)
        width += widths[column];
    width = width < RULE_MAX ? width : RULE_MAX;
    while (width-- > 0)
        str_addc(out, '-');
    str_addc(out, '\n');
}

void table_print(const struct table *table, struct str *out)
{
    AUTO(mem) size_t *widths = mem_alloc((table->columns + 1) * sizeof(*widths));

    for (size_t column = 0; column < table->columns; column++)
        widths[column] = width_of(table, column);
    print_row(table, widths, 0, out);
    print_rule(table, widths, out);
    for (size_t i = table->columns; i + table->columns <= table->cells.count; i += table->columns)
        print_row(table, widths, i, out);
    print_rule(table, widths, out);
}

void table_release(struct table *table)
{
    strv_release(&table->cells);
    table->columns = 0;
}
