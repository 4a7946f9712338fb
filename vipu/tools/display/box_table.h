/* Tables in boxes, as gc-monitor draws them: "+---+" rules and cells centred between "|". A column has a
 * minimum width, and longer cells widen it, unless the column is truncated at the front, as for addresses,
 * whose end matters most. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/str.h"

struct box_table_column {
    const char *heading;
    size_t width;
    bool is_cut;
};

/* A cell above the headings: over this many columns; or, with columns 0, of this width; or, with both 0,
 * over the rest of the line. */
struct box_table_span {
    const char *text;
    size_t columns;
    size_t width;
};

struct box_table {
    const struct box_table_column *columns; /* borrowed */
    size_t column_count;
    struct strv cells; /* row by row */
    size_t *rules;     /* cells before which a rule is drawn */
    size_t rule_count;
};

void box_table_init(struct box_table *box, const struct box_table_column *columns, size_t column_count);
void box_table_add(struct box_table *box, const char *cell); /* from left to right, row by row */
void box_table_addf(struct box_table *box, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void box_table_add_rule(struct box_table *box); /* between the rows so far and the next */
void box_table_print(const struct box_table *box, const struct box_table_span *spans, size_t span_count,
                     struct str *out);
void box_table_release(struct box_table *box);
DEFINE_AUTO(box_table);

/* A box of one cell, this wide between its bars; wider when the text is. */
void box_table_print_line(const char *text, size_t width, struct str *out);
