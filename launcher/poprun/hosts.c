#include "launcher/poprun/hosts.h"

#include <string.h>

#include "base/core/mem.h"

#define NAME_MAX_BYTES 253u
#define PART_MAX_BYTES 4096u /* also bounds how deep brackets nest calls */
#define FILE_MAX_BYTES ((size_t)1024 * 1024)
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define DIGITS "0123456789"

static bool add(const char *name, struct strv *hosts, struct err *err)
{
    if (!*name || strspn(name, LETTERS "._-") != strlen(name) || strchr("._-", *name) ||
        strlen(name) > NAME_MAX_BYTES)
        return err_set(err, ERR_INVALID, "\"%.80s\" is neither the name nor the IPv4 address of a host",
                       name);
    if (strv_has(hosts, name))
        return err_set(err, ERR_INVALID, "host %s is named twice", name);
    if (hosts->count >= HOSTS_MAX)
        return err_set(err, ERR_INVALID, "there are more than %u hosts", HOSTS_MAX);
    strv_push(hosts, name);
    return true;
}

static bool expand(const char *head, const char *rest, struct strv *hosts, struct err *err);

/* One part of a bracket: "3", "0-7" or "08-11". */
static bool expand_range(const char *head, const char *part, const char *rest, struct strv *hosts,
                         struct err *err)
{
    size_t width = strspn(part, DIGITS);
    const char *last_text = part[width] == '-' ? part + width + 1 : part;
    AUTO(mem) char *first_text = mem_strndup(part, width);
    uint32_t first, last;

    if (!parse_u32(first_text, 0, 999999999, &first) || !parse_u32(last_text, first, 999999999, &last))
        return err_set(err, ERR_INVALID, "\"%.80s\" in brackets is neither a number nor a range like 0-3",
                       part);
    for (uint32_t n = first; n <= last; n++) {
        AUTO(mem) char *longer = mem_printf("%s%0*u", head, first_text[0] == '0' ? (int)width : 1, n);

        if (!expand(longer, rest, hosts, err))
            return false;
    }
    return true;
}

/* Every host that begins with head and goes on as rest says. A bracket has something in it: no endless calls.
 */
static bool expand(const char *head, const char *rest, struct strv *hosts, struct err *err)
{
    const char *open = strchr(rest, '['), *close = open ? strchr(open, ']') : NULL;

    if (!open) {
        AUTO(mem) char *name = mem_printf("%s%s", head, rest);
        return add(name, hosts, err);
    }
    if (!close || close == open + 1)
        return err_set(err, ERR_INVALID, "\"%.80s\" has a bracket that is empty or not closed", rest);
    AUTO(mem) char *longer = mem_printf("%s%.*s", head, (int)(open - rest), rest);
    for (const char *at = open + 1; at <= close;) {
        size_t len = strcspn(at, ",]");
        AUTO(mem) char *part = mem_strndup(at, len);

        if (!expand_range(longer, part, close + 1, hosts, err))
            return false;
        at += len + 1;
    }
    return true;
}

bool hosts_read_list(const char *text, struct strv *hosts, struct err *err)
{
    if (strlen(text) > FILE_MAX_BYTES)
        return err_set(err, ERR_INVALID, "the list of hosts is longer than 1 MiB");
    for (const char *at = text;; at++) {
        bool in_bracket = false;
        size_t len = 0;

        for (; at[len] && (in_bracket || at[len] != ','); len++)
            in_bracket = at[len] == '[' || (in_bracket && at[len] != ']');
        if (len > PART_MAX_BYTES)
            return err_set(err, ERR_INVALID, "a part of the list of hosts is longer than %u bytes",
                           PART_MAX_BYTES);
        AUTO(mem) char *part = mem_strndup(at, len);
        if (!expand("", part, hosts, err))
            return false;
        at += len;
        if (!*at)
            return true;
    }
}

static bool read_line(const char *line, struct strv *hosts, struct err *err)
{
    static const char blanks[] = " \t\r";
    const char *at = line + strspn(line, blanks);

    for (size_t i = 0; *at && *at != '#'; i++) {
        size_t len = strcspn(at, " \t\r#");
        AUTO(mem) char *word = mem_strndup(at, len);

        if (i && !str_has_prefix(word, "slots=") && !str_has_prefix(word, "max_slots=") &&
            !str_has_prefix(word, "max-slots="))
            return err_set(err, ERR_INVALID, "\"%.80s\" after the host is not slots=N", word);
        if (i == 0 && !hosts_read_list(word, hosts, err))
            return false;
        at += len + strspn(at + len, blanks);
    }
    return true;
}

bool hosts_read_file(struct slice text, const char *name, struct strv *hosts, struct err *err)
{
    size_t before = hosts->count;
    unsigned number = 0;

    if (text.len > FILE_MAX_BYTES)
        return err_set(err, ERR_INVALID, "%s: a host file has at most 1 MiB", name);
    if (text.len && memchr(text.ptr, '\0', text.len))
        return err_set(err, ERR_INVALID, "%s has zero bytes; a host file is text, one host a line", name);
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t len = end ? (size_t)(end - text.ptr) - at : text.len - at;
        AUTO(mem) char *line = mem_strndup(text.ptr + at, len);

        number++;
        if (!read_line(line, hosts, err))
            return err_wrap(err, "%s: line %u", name, number);
        at += len + 1;
    }
    if (hosts->count == before)
        return err_set(err, ERR_INVALID, "%s names no host", name);
    return true;
}
