#include "vipu/tools/display/box_table.h"

#include <stdarg.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/visible.h"

void box_table_init(struct box_table *box, const struct box_table_column *columns, size_t column_count)
{
    *box = (struct box_table){.columns = columns, .column_count = column_count};
}

void box_table_release(struct box_table *box)
{
    strv_release(&box->cells);
    mem_free(box->rules);
    *box = (struct box_table){0};
}

/* A cell's content comes from outside and must not leave the cell. */
static char *clean_take(char *text)
{
    char *clean = visible_new(text, VISIBLE_LINE);

    mem_free(text);
    for (char *c = clean; *c; c++)
        if (*c == '|')
            *c = '?';
    return clean;
}

/* "172.31.100.130" in 13 columns is "...31.100.130". */
static char *cut_take(char *text, size_t width)
{
    size_t len = strlen(text);
    char *cut;

    if (len <= width || width < 4)
        return text;
    cut = mem_printf("...%s", text + len - (width - 3));
    mem_free(text);
    return cut;
}

static void add_take(struct box_table *box, char *text)
{
    const struct box_table_column *column = &box->columns[box->cells.count % box->column_count];

    text = clean_take(text);
    strv_push_take(&box->cells, column->is_cut ? cut_take(text, column->width) : text);
}

void box_table_add(struct box_table *box, const char *cell)
{
    add_take(box, mem_strdup(cell));
}

void box_table_addf(struct box_table *box, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add_take(box, mem_vprintf(fmt, args));
    va_end(args);
}

void box_table_add_rule(struct box_table *box)
{
    if (box->cells.count == 0)
        return;
    box->rules = mem_grow(box->rules, box->rule_count + 1, sizeof(*box->rules));
    box->rules[box->rule_count++] = box->cells.count;
}

static void put_many(struct str *out, char c, size_t count)
{
    while (count-- > 0)
        str_addc(out, c);
}

static void put_centred(const char *text, size_t width, struct str *out)
{
    size_t len = strlen(text), left = len < width ? (width - len) / 2 : 0;

    put_many(out, ' ', left);
    str_adds(out, text);
    put_many(out, ' ', len < width ? width - len - left : 0);
}

static void put_rule(const size_t *widths, size_t count, struct str *out)
{
    str_addc(out, '+');
    for (size_t i = 0; i < count; i++) {
        put_many(out, '-', widths[i]);
        str_addc(out, '+');
    }
    str_addc(out, '\n');
}

static void put_cells(char *const *texts, const size_t *widths, size_t count, struct str *out)
{
    str_addc(out, '|');
    for (size_t i = 0; i < count; i++) {
        put_centred(texts[i], widths[i], out);
        str_addc(out, '|');
    }
    str_addc(out, '\n');
}

static size_t sum(const size_t *widths, size_t count)
{
    size_t total = count ? count - 1 : 0; /* the bars between them */

    for (size_t i = 0; i < count; i++)
        total += widths[i];
    return total;
}

static void measure(const struct box_table *box, size_t *widths)
{
    for (size_t i = 0; i < box->column_count; i++)
        widths[i] = box->columns[i].width;
    for (size_t i = 0; i < box->cells.count; i++) {
        size_t len = strlen(box->cells.items[i]), *width = &widths[i % box->column_count];

        if (len > *width)
            *width = len;
    }
}

static void print_spans(const struct box_table_span *spans, size_t span_count, const size_t *widths,
                        size_t columns, struct str *out)
{
    AUTO(mem) size_t *span_widths = mem_alloc((span_count + 1) * sizeof(*span_widths));
    AUTO(strv) struct strv texts = {0};
    size_t column = 0;

    for (size_t i = 0; i < span_count; i++) {
        if (spans[i].columns)
            span_widths[i] = sum(widths + column, spans[i].columns);
        else
            span_widths[i] = spans[i].width ? spans[i].width : sum(widths, columns) - sum(span_widths, i) - 1;
        column += spans[i].columns;
        strv_push_take(&texts, clean_take(mem_strdup(spans[i].text)));
    }
    put_rule(span_widths, span_count, out);
    put_cells(texts.items, span_widths, span_count, out);
}

void box_table_print(const struct box_table *box, const struct box_table_span *spans, size_t span_count,
                     struct str *out)
{
    AUTO(mem) size_t *widths = mem_alloc(box->column_count * sizeof(*widths));
    AUTO(strv) struct strv headings = {0};
    size_t rule = 0;

    measure(box, widths);
    for (size_t i = 0; i < box->column_count; i++)
        strv_push(&headings, box->columns[i].heading);
    if (span_count)
        print_spans(spans, span_count, widths, box->column_count, out);
    put_rule(widths, box->column_count, out);
    put_cells(headings.items, widths, box->column_count, out);
    put_rule(widths, box->column_count, out);
    for (size_t i = 0; i + box->column_count <= box->cells.count; i += box->column_count) {
        if (rule < box->rule_count && box->rules[rule] == i) {
            put_rule(widths, box->column_count, out);
            rule++;
        }
        put_cells(box->cells.items + i, widths, box->column_count, out);
    }
    put_rule(widths, box->column_count, out);
}

void box_table_print_line(const char *text, size_t width, struct str *out)
{
    AUTO(mem) char *cell = clean_take(mem_strdup(text));

    if (strlen(cell) > width)
        width = strlen(cell);
    put_rule(&width, 1, out);
    put_cells(&cell, &width, 1, out);
    put_rule(&width, 1, out);
}
