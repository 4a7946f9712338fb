#include "launcher/poprun/options/settings.h"

#include <string.h>

#include "base/core/mem.h"

#define PROGRAM_KEY "program"
#define PROGRAM_ARG_KEY "program-arg"

static const char blanks[] = " \t\r";

/* The position in a file. */
struct place {
    const char *name;
    unsigned line;
    struct strv *problems;
};

/* The value after the opening quote; false if the quote is not closed at the end of the line. */
static bool unquote(const char *text, struct str *ret)
{
    for (; *text && *text != '"'; text++) {
        if (*text != '\\') {
            (void)str_addc(ret, *text);
            continue;
        }
        text++;
        if (!*text)
            return false;
        (void)str_addc(ret, *text == 'n' ? '\n' : *text == 't' ? '\t' : *text);
    }
    if (*text != '"')
        return false;
    text++;
    text += strspn(text, blanks);
    return *text == '\0' || *text == '#';
}

static void trim_end(char *text, size_t len)
{
    while (len && strchr(blanks, text[len - 1]))
        len--;
    text[len] = '\0';
}

/* A comment starts at a # that follows a space. */
static void cut_bare(char *text)
{
    size_t len = 0;

    while (text[len] && !(text[len] == '#' && (len == 0 || strchr(blanks, text[len - 1]))))
        len++;
    trim_end(text, len);
}

static void reject_unknown(const char *key, const char *where, struct strv *problems)
{
    const char *best = option_find(key) ? NULL : option_suggest(key);

    if (best)
        strv_pushf(problems, "%s: unknown setting \"%.80s\"; did you mean %s?", where, key, best);
    else
        strv_pushf(problems, "%s: unknown setting \"%.80s\"", where, key);
}

static void use(struct settings *settings, const char *key, const char *value, const struct place *place)
{
    const struct option_row *row = option_find(key);
    AUTO(mem) char *where = mem_printf("%s: line %u", place->name, place->line);

    if (strcmp(key, PROGRAM_KEY) == 0 && settings->program.count == 0)
        strv_push(&settings->program, value);
    else if (strcmp(key, PROGRAM_KEY) == 0)
        strv_pushf(place->problems, "%s: program is given more than once", where);
    else if (strcmp(key, PROGRAM_ARG_KEY) == 0 && settings->program.count)
        strv_push(&settings->program, value);
    else if (strcmp(key, PROGRAM_ARG_KEY) == 0)
        strv_pushf(place->problems, "%s: program= must come before its arguments", where);
    else if (!row || row->is_cli_only)
        reject_unknown(key, where, place->problems);
    else
        settings_add(settings, row, value, where, place->problems);
}

static void read_line(struct settings *settings, char *line, const struct place *place)
{
    char *key = line + strspn(line, blanks), *equals = strchr(key, '=');
    AUTO(str) struct str value = {0};

    if (*key == '\0' || *key == '#')
        return;
    if (!equals) {
        strv_pushf(place->problems, "%s: line %u: expected name=value, got \"%.80s\"", place->name,
                   place->line, key);
        return;
    }
    char *text = equals + 1 + strspn(equals + 1, blanks);
    *equals = '\0';
    trim_end(key, strlen(key));
    if (*text != '"') {
        cut_bare(text);
        use(settings, key, text, place);
    } else if (unquote(text + 1, &value)) {
        use(settings, key, str_text(&value), place);
    } else {
        strv_pushf(place->problems, "%s: line %u: %.80s: unclosed quotes", place->name, place->line, key);
    }
}

void settings_read_file(struct settings *settings, struct slice text, const char *name, struct strv *problems)
{
    struct place place = {name, 0, problems};

    if (text.len > SETTINGS_FILE_MAX || (text.len && memchr(text.ptr, '\0', text.len))) {
        strv_pushf(problems, "%s is not a configuration file: it is empty, binary or larger than 1 MiB",
                   name);
        return;
    }
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t len = end ? (size_t)(end - text.ptr) - at : text.len - at;
        AUTO(mem) char *line = mem_strndup(text.ptr + at, len);

        place.line++;
        read_line(settings, line, &place);
        at += len + 1;
    }
}

static void write_line(const char *key, const char *value, struct str *out)
{
    (void)str_addf(out, "%s=\"", key);
    for (; *value; value++) {
        if (*value == '\n')
            (void)str_adds(out, "\\n");
        else if (*value == '"' || *value == '\\')
            (void)str_addf(out, "\\%c", *value);
        else
            (void)str_addc(out, *value);
    }
    (void)str_adds(out, "\"\n");
}

static bool is_plain(const char *value)
{
    return *value && value[strcspn(value, " \t\r\n\"#\\")] == '\0';
}

static void write_setting(const char *key, const char *value, struct str *out)
{
    if (is_plain(value))
        (void)str_addf(out, "%s=%s\n", key, value);
    else
        write_line(key, value, out);
}

void settings_write(const struct settings *settings, struct str *out)
{
    for (size_t i = 0; i < settings->count; i++)
        if (!settings->items[i].row->is_cli_only)
            write_setting(settings->items[i].row->name, settings->items[i].value, out);
    for (size_t i = 0; i < settings->program.count; i++)
        write_setting(i ? PROGRAM_ARG_KEY : PROGRAM_KEY, settings->program.items[i], out);
}
