#include "launcher/env/line_buffer.h"

#include <string.h>

char *line_buffer_space(struct line_buffer *buffer, size_t *ret_len)
{
    size_t len = buffer->end - buffer->start;

    if (buffer->start > 0)
        memmove(buffer->bytes, buffer->bytes + buffer->start, len);
    buffer->start = 0;
    buffer->end = len;
    *ret_len = LINE_BUFFER_CAPACITY - len;
    return buffer->bytes + len;
}

void line_buffer_add(struct line_buffer *buffer, size_t len)
{
    buffer->end += len;
}

bool line_buffer_is_empty(const struct line_buffer *buffer)
{
    return buffer->start == buffer->end;
}

/* So many bytes of whole lines as one chunk may have. */
static size_t whole_lines(const char *bytes, size_t len)
{
    size_t whole = 0, tags = 0, most = len < LINE_BUFFER_CHUNK_MAX ? len : LINE_BUFFER_CHUNK_MAX;

    for (;;) {
        const char *newline = memchr(bytes + whole, '\n', most - whole);
        size_t next = newline ? (size_t)(newline - bytes) + 1 : 0;

        tags += LINE_BUFFER_TAG_MAX;
        if (!newline || next + tags > LINE_BUFFER_CHUNK_MAX)
            return whole;
        whole = next;
    }
}

static size_t put(char *ret, const char *bytes, size_t len)
{
    memcpy(ret, bytes, len);
    return len;
}

static size_t take(struct line_buffer *buffer, size_t len, const char *more, char *ret)
{
    const char *at = buffer->bytes + buffer->start, *end = at + len;
    size_t made = 0;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *next = newline ? newline + 1 : end;

        made += put(ret + made, buffer->tag, strlen(buffer->tag));
        made += put(ret + made, at, (size_t)(next - at));
        at = next;
    }
    made += put(ret + made, more, strlen(more));
    buffer->start += len;
    return made;
}

size_t line_buffer_take(struct line_buffer *buffer, enum line_buffer_rest rest,
                        char ret[LINE_BUFFER_CHUNK_MAX])
{
    static const char *const ends[] = {[LINE_BUFFER_CUT] = LINE_BUFFER_MARK, [LINE_BUFFER_END] = "\n"};
    size_t len = buffer->end - buffer->start;
    size_t whole = whole_lines(buffer->bytes + buffer->start, len);

    if (whole)
        return take(buffer, whole, "", ret);
    if (len > LINE_BUFFER_PIECE_MAX)
        return take(buffer, LINE_BUFFER_PIECE_MAX, buffer->is_exact ? "" : LINE_BUFFER_MARK, ret);
    if (len == 0 || rest == LINE_BUFFER_KEEP)
        return 0;
    return take(buffer, len, buffer->is_exact ? "" : ends[rest], ret);
}
