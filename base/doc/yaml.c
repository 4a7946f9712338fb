#include "base/doc/yaml.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/core/map.h"

enum { MAX_DEPTH = 64, MAX_NODES = 200 * 1000 };

#define YAML_MAX_BYTES ((size_t)4 * 1024 * 1024)
#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

/* Sorted by node address after parsing, for look-ups. */
struct yaml_line {
    const cJSON *node;
    unsigned line;
};

struct yaml_lines {
    struct yaml_line *items;
    size_t count;
    size_t cap;
};

/* A container that is being filled. */
struct level {
    cJSON *node;
    char *key;       /* of the next value; NULL in sequences and before a key */
    struct map keys; /* keys of this mapping so far: searching the tree would make long mappings quadratic */
};

struct reader {
    yaml_parser_t parser;
    const char *name;
    struct yaml_lines *lines;
    cJSON *root;
    struct level levels[MAX_DEPTH];
    size_t depth;
    bool is_stream; /* the lowest level is the list of documents */
    struct err *err;
};

static unsigned line_of(const yaml_mark_t *mark)
{
    return (unsigned)(mark->line + 1);
}

static bool complain(struct reader *r, const yaml_mark_t *mark, const char *what)
{
    return err_set(r->err, ERR_INVALID, "%s: line %u: %s", r->name, line_of(mark), what);
}

static bool remember_line(struct reader *r, const cJSON *node, const yaml_mark_t *mark)
{
    struct yaml_lines *lines = r->lines;

    if (lines->count == MAX_NODES)
        return complain(r, mark, "too many values in one document");
    if (lines->count == lines->cap) {
        lines->cap = lines->cap ? lines->cap * 2 : 64;
        lines->items = mem_grow(lines->items, lines->cap, sizeof *lines->items);
    }
    lines->items[lines->count++] = (struct yaml_line){node, line_of(mark)};
    return true;
}

/* Adds a finished scalar, or a container that is about to be filled, at the current position. */
static bool place(struct reader *r, cJSON *node, const yaml_mark_t *mark)
{
    struct level *top = r->depth ? &r->levels[r->depth - 1] : NULL;

    if (!top) {
        r->root = node;
    } else if (cJSON_IsArray(top->node)) {
        json_push_take(top->node, node);
    } else {
        (void)cJSON_AddItemToObject(top->node, top->key, node);
        mem_set_str(&top->key, NULL);
    }
    return remember_line(r, node, mark);
}

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++) {
        if (strcmp(text, *words) == 0)
            return true;
    }
    return false;
}

/* YAML 1.2, core schema: [-+]? (digits | 0o octal | 0x hex), and [-+]? digits with a point or an exponent. */
static bool is_decimal(const char *text)
{
    size_t sign = *text == '-' || *text == '+';
    const char *at = text + sign;
    size_t whole = strspn(at, "0123456789");

    at += whole;
    size_t part = *at == '.' ? strspn(at + 1, "0123456789") : 0;
    if (whole + part == 0)
        return false;
    at += *at == '.' ? part + 1 : 0;
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '-' || *at == '+';
        size_t digits = strspn(at, "0123456789");
        if (digits == 0)
            return false;
        at += digits;
    }
    return *at == '\0';
}

static bool is_based(const char *text, char mark, const char *digits)
{
    return text[0] == '0' && text[1] == mark && text[2] && text[2 + strspn(text + 2, digits)] == '\0';
}

static bool plain_number(const char *text, double *ret)
{
    if (is_decimal(text))
        *ret = strtod(text, NULL);
    else if (is_based(text, 'x', "0123456789abcdefABCDEF"))
        *ret = (double)strtoull(text + 2, NULL, 16);
    else if (is_based(text, 'o', "01234567"))
        *ret = (double)strtoull(text + 2, NULL, 8);
    else
        return false;
    return isfinite(*ret);
}

static cJSON *plain_scalar(const char *text, bool is_1_1)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const yes[] = {"true", "True", "TRUE", NULL};
    static const char *const no[] = {"false", "False", "FALSE", NULL};
    static const char *const yes_1_1[] = {"y", "Y", "yes", "Yes", "YES", "on", "On", "ON", NULL};
    static const char *const no_1_1[] = {"n", "N", "no", "No", "NO", "off", "Off", "OFF", NULL};
    double number;

    if (is_one_of(text, nulls))
        return cJSON_CreateNull();
    if (is_one_of(text, yes) || (is_1_1 && is_one_of(text, yes_1_1)))
        return cJSON_CreateTrue();
    if (is_one_of(text, no) || (is_1_1 && is_one_of(text, no_1_1)))
        return cJSON_CreateFalse();
    if (plain_number(text, &number))
        return cJSON_CreateNumber(number);
    return cJSON_CreateString(text);
}

/* Only tags that change nothing: "!!str 5" is a string, other tags would need a schema of their own. */
static bool tag_fits(const char *tag)
{
    return !tag || strcmp(tag, "!") == 0 || strcmp(tag, YAML_STR_TAG) == 0;
}

static bool take_key(struct reader *r, const yaml_event_t *event, const char *text)
{
    struct level *top = &r->levels[r->depth - 1];
    AUTO(mem) char *what = NULL;

    if (map_set(&top->keys, text, top)) {
        what = mem_printf("duplicate key \"%.100s\"", text);
        return complain(r, &event->start_mark, what);
    }
    top->key = mem_strdup(text);
    return true;
}

static bool wants_key(const struct reader *r)
{
    const struct level *top = r->depth ? &r->levels[r->depth - 1] : NULL;

    return top && cJSON_IsObject(top->node) && !top->key;
}

static bool on_scalar(struct reader *r, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    const char *tag = (const char *)event->data.scalar.tag;

    if (strlen(text) != event->data.scalar.length)
        return complain(r, &event->start_mark, "NUL character in a string");
    if (!tag_fits(tag))
        return complain(r, &event->start_mark, "tags are not supported");
    if (event->data.scalar.anchor)
        return complain(r, &event->start_mark, "anchors are not supported");
    if (wants_key(r))
        return take_key(r, event, text);
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !tag;
    return place(r, plain ? plain_scalar(text, r->is_stream) : cJSON_CreateString(text), &event->start_mark);
}

static bool open_level(struct reader *r, const yaml_event_t *event, cJSON *node, bool anchored, bool tagged)
{
    AUTO(json) cJSON *mine = node;

    if (wants_key(r))
        return complain(r, &event->start_mark, "keys must be strings");
    if (anchored)
        return complain(r, &event->start_mark, "anchors are not supported");
    if (tagged)
        return complain(r, &event->start_mark, "tags are not supported");
    if (r->depth == MAX_DEPTH)
        return complain(r, &event->start_mark, "nested too deeply");
    if (!place(r, TAKE(mine), &event->start_mark))
        return false;
    r->levels[r->depth++] = (struct level){.node = node};
    return true;
}

static void close_level(struct reader *r)
{
    struct level *top = &r->levels[--r->depth];

    mem_free(top->key);
    map_release(&top->keys);
}

static bool on_event(struct reader *r, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return !r->root || r->is_stream || complain(r, &event->start_mark, "expected a single document");
    case YAML_ALIAS_EVENT:
        return complain(r, &event->start_mark, "aliases are not supported");
    case YAML_SCALAR_EVENT:
        return on_scalar(r, event);
    case YAML_SEQUENCE_START_EVENT:
        return open_level(r, event, json_array(), event->data.sequence_start.anchor,
                          event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return open_level(r, event, json_object(), event->data.mapping_start.anchor,
                          event->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_level(r);
        return true;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return true;
    }
    return true;
}

/* libyaml counts bytes for broken encodings and lines for everything else. */
static yaml_mark_t mark_of_byte(struct slice text, size_t offset)
{
    yaml_mark_t mark = {.index = offset};

    for (size_t i = 0; i < offset && i < text.len; i++)
        mark.line += text.ptr[i] == '\n';
    return mark;
}

static bool has_tab_in_indentation(struct slice text, size_t line)
{
    size_t at = 0;

    for (; line && at < text.len; at++)
        line -= text.ptr[at] == '\n';
    while (at < text.len && text.ptr[at] == ' ')
        at++;
    return at < text.len && text.ptr[at] == '\t';
}

#define NO_COLON "could not find expected ':'"

/* libyaml's words for frequent mistakes do not say what to correct. */
static const char *problem_of(const struct reader *r, struct slice text)
{
    static const struct {
        const char *of_libyaml, *of_tab, *others;
    } rows[] = {
        {"found character that cannot start any token", "a tab; indent with spaces", NULL},
        {"found a tab character that violates indentation", "a tab; indent with spaces", NULL},
        {"mapping values are not allowed in this context", NULL,
         "':' is not allowed here; put the value in quotes, or add a missing ':' in the line before"},
        {NO_COLON, NULL, "a ':' is missing after this key"},
    };
    const char *problem = r->parser.problem ? r->parser.problem : "not YAML";

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bool is_tab = rows[i].of_tab && has_tab_in_indentation(text, r->parser.problem_mark.line);
        const char *what = is_tab ? rows[i].of_tab : rows[i].others;

        if (what && str_eq(problem, rows[i].of_libyaml))
            return what;
    }
    return problem;
}

static bool broken(struct reader *r, struct slice text)
{
    const char *what = problem_of(r, text);
    yaml_mark_t mark = r->parser.problem_mark;

    if (str_eq(r->parser.problem, NO_COLON))
        mark = r->parser.context_mark; /* of the key */
    if (r->parser.error == YAML_READER_ERROR)
        mark = mark_of_byte(text, r->parser.problem_offset);
    return complain(r, &mark, what);
}

static bool read_events(struct reader *r, struct slice text)
{
    for (bool end = false; !end;) {
        yaml_event_t event;

        if (!yaml_parser_parse(&r->parser, &event))
            return broken(r, text);
        bool good = on_event(r, &event);
        end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        if (!good)
            return false;
    }
    return true;
}

static int by_node(const void *a, const void *b)
{
    uintptr_t left = (uintptr_t)((const struct yaml_line *)a)->node;
    uintptr_t right = (uintptr_t)((const struct yaml_line *)b)->node;

    return (left > right) - (left < right);
}

static bool parse(struct slice text, const char *name, bool is_stream, struct yaml_doc *ret, struct err *err)
{
    struct reader r = {.name = name, .err = err, .is_stream = is_stream};

    if (text.len > YAML_MAX_BYTES)
        return err_set(err, ERR_INVALID, "%s: larger than the limit of %zu bytes", name, YAML_MAX_BYTES);
    if (!yaml_parser_initialize(&r.parser))
        return err_set(err, ERR_INTERNAL, "%s: out of memory", name);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    /* With an encoding given, libyaml takes a byte order mark for text. */
    if (text.len >= sizeof BYTE_ORDER_MARK - 1 &&
        memcmp(text.ptr, BYTE_ORDER_MARK, sizeof BYTE_ORDER_MARK - 1) == 0)
        text = (struct slice){text.ptr + sizeof BYTE_ORDER_MARK - 1, text.len - (sizeof BYTE_ORDER_MARK - 1)};
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text.ptr, text.len);
    r.lines = NEW(struct yaml_lines);
    if (is_stream) {
        r.root = json_array();
        r.levels[r.depth++] = (struct level){.node = r.root};
    }

    bool good = read_events(&r, text);
    while (r.depth > 0)
        close_level(&r);
    yaml_parser_delete(&r.parser);
    struct yaml_doc doc = {.root = r.root, .lines = r.lines};
    if (!good) {
        yaml_release(&doc);
        return false;
    }
    if (r.lines->count > 0)
        qsort(r.lines->items, r.lines->count, sizeof *r.lines->items, by_node);
    *ret = doc;
    return true;
}

bool yaml_parse(struct slice text, const char *name, struct yaml_doc *ret, struct err *err)
{
    return parse(text, name, false, ret, err);
}

bool yaml_parse_stream(struct slice text, const char *name, struct yaml_doc *ret, struct err *err)
{
    return parse(text, name, true, ret, err);
}

unsigned yaml_line(const struct yaml_doc *doc, const cJSON *node)
{
    struct yaml_line wanted = {.node = node};

    if (!doc->lines || doc->lines->count == 0)
        return 0;
    const struct yaml_line *found =
        bsearch(&wanted, doc->lines->items, doc->lines->count, sizeof wanted, by_node);
    return found ? found->line : 0;
}

void yaml_release(struct yaml_doc *doc)
{
    cJSON_Delete(doc->root);
    if (doc->lines)
        mem_free(doc->lines->items);
    mem_free(doc->lines);
    *doc = (struct yaml_doc){0};
}
