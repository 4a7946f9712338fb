#include "kubectl/core/table.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"
#include "base/core/utf8.h"
#include "base/core/visible.h"

enum { GAP = 3, COLUMNS_MAX = 16, ROW_INDENT = 14, NARROW_INDENT = 4, WRAP_MIN = 20 };

void paint_add(struct str *out, const struct look *look, enum paint paint, const char *text)
{
    static const char *const codes[] = {"", "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[2m"};
    bool on = look->colors && paint != PAINT_NONE;

    str_addf(out, "%s%s%s", on ? codes[paint] : "", text, on ? "\x1b[0m" : "");
}

enum paint paint_of_status(const char *status)
{
    static const struct {
        const char *status;
        enum paint paint;
    } rows[] = {
        {"Running", PAINT_GOOD},      {"Completed", PAINT_GOOD},    {"Failed", PAINT_BAD},
        {"Pending", PAINT_WARNING},   {"Starting", PAINT_WARNING},  {"Restarting", PAINT_WARNING},
        {"Suspended", PAINT_WARNING}, {"Terminating", PAINT_FAINT},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (str_eq(rows[i].status, status))
            return rows[i].paint;
    }
    return PAINT_NONE;
}

size_t text_width(const char *text)
{
    size_t width = 0;

    for (; *text; text++)
        width += !utf8_is_continuation(*text);
    return width;
}

/* The bytes of the text's first characters. */
static size_t bytes_of(const char *text, size_t characters)
{
    size_t len = 0;

    for (; text[len]; len++) {
        if (!utf8_is_continuation(text[len]) && characters-- == 0)
            break;
    }
    return len;
}

void text_wrap(struct str *out, const char *text, size_t indent, size_t width)
{
    while (text_width(text) > width) {
        size_t len = bytes_of(text, width), cut = len;

        while (cut > 0 && text[cut] != ' ')
            cut--;
        cut = cut > 0 ? cut : len;
        str_add(out, text, cut);
        str_addf(out, "\n%*s", (int)indent, "");
        text += cut;
        text += *text == ' ';
    }
    str_adds(out, text);
}

void paragraph_add(struct str *out, const struct look *look, size_t indent, const char *text)
{
    str_addf(out, "%*s", (int)indent, "");
    if (look->width == 0)
        str_adds(out, text);
    else
        text_wrap(out, text, indent, look->width > 2 * indent ? look->width - indent : indent);
    str_addc(out, '\n');
}

void row_add(struct str *out, const struct look *look, const char *label, const char *text)
{
    AUTO(mem) char *line = visible_new(text, "\t"); /* a row is one line */
    size_t left = look->width > ROW_INDENT ? look->width - ROW_INDENT : 0;

    str_addf(out, "  %-*s", ROW_INDENT - 2, label);
    if (look->width > 0 && left < WRAP_MIN) {
        str_addc(out, '\n');
        paragraph_add(out, look, NARROW_INDENT, line);
        return;
    }
    if (left > 0)
        text_wrap(out, line, ROW_INDENT, left);
    else
        str_adds(out, line);
    str_addc(out, '\n');
}

static char *value_of(const struct column *column, const cJSON *item, int64_t now_s)
{
    const cJSON *value = json_at(item, column->path);
    AUTO(str) struct str text = {0};
    char age[TIMEFMT_RFC3339_SIZE];
    int64_t at_s;

    if (cJSON_IsNumber(value)) {
        str_addf(&text, "%lld", (long long)json_i64(item, column->path, 0));
    } else if (column->kind == COLUMN_LIST) {
        JSON_EACH (word, value)
            str_addf(&text, "%s%s", text.len ? "," : "", json_str(word, "", ""));
    } else if (column->kind != COLUMN_AGE && column->kind != COLUMN_TIME_LEFT) {
        str_adds(&text, json_str(item, column->path, ""));
    } else if (timefmt_parse_rfc3339(json_str(item, column->path, ""), &at_s)) {
        str_adds(&text, timefmt_age(column->kind == COLUMN_AGE ? now_s - at_s : at_s - now_s, age));
    }
    return text.len ? visible_new(str_text(&text), VISIBLE_LINE) : mem_strdup("-");
}

/* `left`: the characters that fit into the line yet. */
static void add_cell(struct str *out, const char *text, size_t width, enum paint paint,
                     const struct look *look, size_t *left)
{
    size_t gap = *left < SIZE_MAX && width > *left ? *left : width, own = text_width(text);
    AUTO(mem) char *cut = mem_strndup(text, bytes_of(text, *left));

    paint_add(out, look, paint, cut);
    if (gap > own)
        str_addf(out, "%*s", (int)(gap - own), "");
    own = own > width ? own : width;
    *left = *left == SIZE_MAX ? SIZE_MAX : *left > own ? *left - own : 0;
}

static void end_line(struct str *out)
{
    while (out->len > 0 && out->ptr[out->len - 1] == ' ')
        out->ptr[--out->len] = '\0';
    str_addc(out, '\n');
}

static size_t shown_columns(const struct column *columns, bool wide, const struct column **ret)
{
    size_t count = 0;

    for (; columns->title; columns++) {
        if (count < COLUMNS_MAX && (wide || !columns->is_wide))
            ret[count++] = columns;
    }
    return count;
}

void table_add(struct str *out, const struct column *columns, const cJSON *items, const struct look *look,
               const struct table_options *options)
{
    const struct column *shown[COLUMNS_MAX];
    size_t widths[COLUMNS_MAX], count = shown_columns(columns, options->wide, shown), at = 0;
    AUTO(strv) struct strv cells = {0};

    for (size_t i = 0; i < count; i++)
        widths[i] = options->no_headers ? 0 : text_width(shown[i]->title);
    for (size_t i = 0; i < count && !options->no_headers; i++)
        strv_push(&cells, shown[i]->title);
    JSON_EACH (item, items) {
        for (size_t i = 0; i < count; i++) {
            strv_push_take(&cells, value_of(shown[i], item, options->now_s));
            size_t width = text_width(cells.items[cells.count - 1]);
            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
    while (at < cells.count) {
        size_t left = look->width ? look->width : SIZE_MAX;

        for (size_t i = 0; i < count; i++, at++) {
            bool is_status = shown[i]->kind == COLUMN_STATUS;

            add_cell(out, cells.items[at], i + 1 < count ? widths[i] + GAP : 0,
                     is_status ? paint_of_status(cells.items[at]) : PAINT_NONE, look, &left);
        }
        end_line(out);
    }
}
