/* Tables as kubectl prints them: columns with blanks between them. And the parts of them that depend on a
 * terminal: colors, and its width. Pure. */
#pragma once

#include <stdbool.h>

#include "base/core/str.h"
#include "base/doc/json.h"

/* How text is shown. A color never carries a meaning alone. */
struct look {
    bool colors;
    size_t width; /* of the terminal in characters; 0: unlimited */
};

enum paint { PAINT_NONE, PAINT_GOOD, PAINT_WARNING, PAINT_BAD, PAINT_FAINT };

void paint_add(struct str *out, const struct look *look, enum paint paint, const char *text);
enum paint paint_of_status(const char *status); /* of an IPUJob */

size_t text_width(const char *text); /* in characters */
/* Lines of at most that many characters, broken at blanks where possible; each but the first begins with
 * `indent` blanks. */
void text_wrap(struct str *out, const char *text, size_t indent, size_t width);

/* Lines of their own, which begin with `indent` blanks. */
void paragraph_add(struct str *out, const struct look *look, size_t indent, const char *text);
/* "  LABEL       text"; on a narrow terminal the text has lines of its own. */
void row_add(struct str *out, const struct look *look, const char *label, const char *text);

enum column_kind { COLUMN_TEXT, COLUMN_AGE, COLUMN_TIME_LEFT, COLUMN_STATUS, COLUMN_LIST };

/* What a column shows of an item of a report. */
struct column {
    const char *title, *path;
    enum column_kind kind;
    bool is_wide; /* only in the wide format */
};

struct table_options {
    bool no_headers, wide;
    int64_t now_s;
};

/* columns ends with title NULL. A value that an item does not have is shown as "-". */
void table_add(struct str *out, const struct column *columns, const cJSON *items, const struct look *look,
               const struct table_options *options);
