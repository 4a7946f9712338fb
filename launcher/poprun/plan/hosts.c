#include "launcher/poprun/plan/hosts.h"

#include <stdarg.h>
#include <string.h>

#include "base/core/map.h"
#include "base/core/mem.h"

#define NAME_MAX_BYTES 253u
#define PART_MAX_BYTES 4096u /* also limits how deep brackets nest calls */
#define FILE_MAX_BYTES ((size_t)1024 * 1024)
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define DIGITS "0123456789"

/* The state of a parse. A function returns false if nothing more is to be read: there are too many hosts, or
 * too many mistakes. */
struct reading {
    struct strv *hosts, *problems;
    struct map known;  /* the hosts by their names, which it borrows */
    const char *where; /* prefix of each problem */
    unsigned mistakes;
};

static bool complain(struct reading *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool complain(struct reading *r, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    AUTO(mem) char *text = mem_vprintf(fmt, args);
    va_end(args);
    strv_pushf(r->problems, "%s%s", r->where, text);
    return ++r->mistakes < HOSTS_PROBLEMS_MAX;
}

static void know_from(struct reading *r, size_t first)
{
    for (size_t i = first; i < r->hosts->count; i++)
        (void)map_set(&r->known, r->hosts->items[i], r->hosts->items[i]);
}

static bool add(struct reading *r, const char *name)
{
    if (!*name || strspn(name, LETTERS "._-") != strlen(name) || strchr(".-", *name) ||
        strlen(name) > NAME_MAX_BYTES)
        return complain(r, "\"%.80s\" is not a host name or IPv4 address%s", name,
                        *name ? "" : "; is a variable of your script empty?");
    if (map_get(&r->known, name))
        return complain(r, "duplicate host %s", name);
    if (r->hosts->count >= HOSTS_MAX)
        return complain(r, "more than %u hosts", HOSTS_MAX) && false;
    strv_push(r->hosts, name);
    know_from(r, r->hosts->count - 1);
    return true;
}

static bool expand(struct reading *r, const char *head, const char *rest);

/* One item of a bracket: "3", "0-7" or "08-11". */
static bool expand_range(struct reading *r, const char *head, const char *part, const char *rest)
{
    size_t width = strspn(part, DIGITS);
    const char *last_text = part[width] == '-' ? part + width + 1 : part;
    AUTO(mem) char *first_text = mem_strndup(part, width);
    uint32_t first, last;

    if (!parse_u32(first_text, 0, 999999999, &first) || !parse_u32(last_text, first, 999999999, &last))
        return complain(r, "\"%.80s\" in brackets is not a number or a range such as 0-3", part);
    for (uint32_t n = first; n <= last; n++) {
        AUTO(mem) char *longer = mem_printf("%s%0*u", head, first_text[0] == '0' ? (int)width : 1, n);

        if (!expand(r, longer, rest))
            return false;
    }
    return true;
}

/* Every host with the prefix head and the suffixes that rest describes. A bracket is never empty, so the
 * recursion ends. */
static bool expand(struct reading *r, const char *head, const char *rest)
{
    const char *open = strchr(rest, '['), *close = open ? strchr(open, ']') : NULL;

    if (!open) {
        AUTO(mem) char *name = mem_printf("%s%s", head, rest);
        return add(r, name);
    }
    if (!close || close == open + 1)
        return complain(r, "\"%.80s\" has an empty or unclosed bracket", rest);
    AUTO(mem) char *longer = mem_printf("%s%.*s", head, (int)(open - rest), rest);
    for (const char *at = open + 1; at <= close;) {
        size_t len = strcspn(at, ",]");
        AUTO(mem) char *part = mem_strndup(at, len);

        if (!expand_range(r, longer, part, close + 1))
            return false;
        at += len + 1;
    }
    return true;
}

/* A bracket with colons is not a range. */
static bool read_part(struct reading *r, const char *part)
{
    if (part[0] == '[' && strchr(part, ':'))
        return complain(r, "\"%.80s\" is not a host name or IPv4 address", part);
    return expand(r, "", part);
}

static bool read_list(struct reading *r, const char *text)
{
    if (strlen(text) > FILE_MAX_BYTES)
        return complain(r, "the list of hosts is longer than 1 MiB");
    for (const char *at = text;; at++) {
        bool in_bracket = false;
        size_t len = 0;

        for (; at[len] && (in_bracket || at[len] != ','); len++)
            in_bracket = at[len] == '[' || (in_bracket && at[len] != ']');
        AUTO(mem) char *part = mem_strndup(at, len);
        if (!len && !*at && at > text)
            return complain(r, "the list ends with a comma; remove it, or the blank that follows it");
        if (!(len > PART_MAX_BYTES
                  ? complain(r, "an entry of the list of hosts is longer than %u bytes", PART_MAX_BYTES)
                  : read_part(r, part)))
            return false;
        at += len;
        if (!*at)
            return true;
    }
}

void hosts_read_list(const char *text, struct strv *hosts, struct strv *problems)
{
    struct reading r = {.hosts = hosts, .problems = problems, .known.borrows_keys = true, .where = ""};

    know_from(&r, 0);
    (void)read_list(&r, text);
    map_release(&r.known);
}

static bool read_line(struct reading *r, const char *line)
{
    static const char blanks[] = " \t\r";
    const char *at = line + strspn(line, blanks);

    for (size_t i = 0; *at && *at != '#'; i++) {
        size_t len = strcspn(at, " \t\r#");
        AUTO(mem) char *word = mem_strndup(at, len);

        if (i && !str_has_prefix(word, "slots=") && !str_has_prefix(word, "max_slots=") &&
            !str_has_prefix(word, "max-slots=") &&
            !complain(r, "expected slots=N after the host, got \"%.80s\"", word))
            return false;
        if (i == 0 && !read_list(r, word))
            return false;
        at += len + strspn(at + len, blanks);
    }
    return true;
}

static void read_lines(struct reading *r, struct slice text, const char *name)
{
    unsigned number = 0;

    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t len = end ? (size_t)(end - text.ptr) - at : text.len - at;
        AUTO(mem) char *line = mem_strndup(text.ptr + at, len);
        AUTO(mem) char *where = mem_printf("%s: line %u: ", name, ++number);

        r->where = where;
        if (!read_line(r, line))
            return;
        at += len + 1;
    }
}

void hosts_read_file(struct slice text, const char *name, struct strv *hosts, struct strv *problems)
{
    struct reading r = {.hosts = hosts, .problems = problems, .known.borrows_keys = true, .where = ""};
    size_t before = hosts->count;

    if (text.len > FILE_MAX_BYTES) {
        (void)complain(&r, "%s: host file is larger than 1 MiB", name);
        return;
    }
    if (text.len && memchr(text.ptr, '\0', text.len)) {
        (void)complain(&r, "%s is a binary file; expected text with one host per line", name);
        return;
    }
    know_from(&r, 0);
    read_lines(&r, text, name);
    map_release(&r.known);
    r.where = "";
    if (hosts->count == before && r.mistakes == 0)
        (void)complain(&r, "%s contains no host", name);
}

bool hosts_divide(struct strv *hosts, uint32_t instances, struct strv *unused, struct err *err)
{
    size_t used = hosts->count < instances ? hosts->count : instances;

    if (used && instances % used)
        return err_set(
            err, ERR_INVALID,
            "--num-instances=%u cannot be divided evenly among %zu hosts; use a multiple of %zu, or "
            "fewer hosts with --host",
            instances, used, used);
    for (size_t i = used; i < hosts->count; i++) {
        strv_push_take(unused, hosts->items[i]);
        hosts->items[i] = NULL;
    }
    hosts->count = used;
    return true;
}
