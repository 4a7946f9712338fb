#include "operator/serve/live/request_head.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static struct slice part(const char *from, const char *to)
{
    return (struct slice){from, (size_t)(to - from)};
}

static struct slice trimmed(struct slice text)
{
    while (text.len > 0 && (*text.ptr == ' ' || *text.ptr == '\t'))
        text = (struct slice){text.ptr + 1, text.len - 1};
    while (text.len > 0 && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    return text;
}

static bool is_word(struct slice text, const char *word)
{
    return text.len == strlen(word) && strncasecmp(text.ptr, word, text.len) == 0;
}

/* Bytes up to the separator, or all; drops both from the text. */
static struct slice next_part(struct slice *text, char at)
{
    const char *end = text->len ? memchr(text->ptr, at, text->len) : NULL;
    struct slice found = end ? part(text->ptr, end) : *text;

    *text = end ? part(end + 1, text->ptr + text->len) : (struct slice){0};
    return found;
}

static bool read_request_line(struct slice line, struct request_head *ret)
{
    struct slice target;

    ret->method = next_part(&line, ' ');
    target = next_part(&line, ' ');
    ret->path = next_part(&target, '?');
    ret->query = target;
    return ret->method.len > 0 && ret->path.len > 0 && ret->path.ptr[0] == '/' && slice_eq(line, "HTTP/1.1");
}

static bool read_field(struct slice line, struct request_head *ret)
{
    static const struct {
        const char *name;
        size_t offset;
    } rows[] = {
        {"Host", offsetof(struct request_head, host)},
        {"Origin", offsetof(struct request_head, origin)},
        {"Cookie", offsetof(struct request_head, cookie)},
        {"Upgrade", offsetof(struct request_head, upgrade)},
        {"Connection", offsetof(struct request_head, connection)},
        {"Content-Length", offsetof(struct request_head, content_length)},
        {"Sec-WebSocket-Key", offsetof(struct request_head, websocket_key)},
        {"Sec-WebSocket-Version", offsetof(struct request_head, websocket_version)},
    };
    struct slice name = next_part(&line, ':');

    if (name.len == 0 || !line.ptr || trimmed(name).len != name.len || is_word(name, "Transfer-Encoding"))
        return false;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct slice *field = (struct slice *)(void *)((char *)ret + rows[i].offset);

        if (!is_word(name, rows[i].name))
            continue;
        if (field->ptr)
            return false;
        *field = trimmed(line);
    }
    return true;
}

static bool read_length(struct request_head *ret)
{
    AUTO(mem) char *text = NULL;
    int64_t len;

    if (!ret->content_length.ptr)
        return true;
    text = mem_strndup(ret->content_length.ptr, ret->content_length.len);
    if (!parse_i64(text, 0, INT64_MAX, &len))
        return false;
    ret->body_len = (size_t)len;
    return true;
}

enum request_head_result request_head_parse(struct slice text, struct request_head *ret)
{
    const char *end = text.len ? memmem(text.ptr, text.len, "\r\n\r\n", 4) : NULL;
    struct slice rest = {text.ptr, end ? (size_t)(end + 2 - text.ptr) : 0};
    bool is_first = true;

    *ret = (struct request_head){.len = end ? rest.len + 2 : 0};
    if (!end)
        return text.len < REQUEST_HEAD_MAX ? REQUEST_HEAD_UNFINISHED : REQUEST_HEAD_BAD;
    if (ret->len > REQUEST_HEAD_MAX || memchr(text.ptr, '\0', ret->len))
        return REQUEST_HEAD_BAD;
    for (; rest.len > 0; is_first = false) {
        struct slice line = next_part(&rest, '\n');

        if (line.len == 0 || line.ptr[--line.len] != '\r' || memchr(line.ptr, '\r', line.len))
            return REQUEST_HEAD_BAD;
        if (!(is_first ? read_request_line(line, ret) : read_field(line, ret)))
            return REQUEST_HEAD_BAD;
    }
    return read_length(ret) ? REQUEST_HEAD_WHOLE : REQUEST_HEAD_BAD;
}

bool request_head_has_word(struct slice list, const char *word)
{
    while (list.len > 0) {
        if (is_word(trimmed(next_part(&list, ',')), word))
            return true;
    }
    return false;
}

struct slice request_head_cookie(struct slice *rest, const char *name)
{
    while (rest->len > 0) {
        struct slice value = trimmed(next_part(rest, ';')), key = next_part(&value, '=');

        if (slice_eq(key, name))
            return value;
    }
    return (struct slice){0};
}
