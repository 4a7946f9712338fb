#include "local/node/container_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/utf8.h"

#define LINE_MAX_BYTES ((size_t)64 * 1024) /* longer ones are given in pieces */
#define TAIL_BYTES 2048
#define TAIL_LINES 80

bool container_log_open(struct container_log *log, const char *path, struct err *err)
{
    log->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    log->path = mem_strdup(path);
    return log->fd >= 0 || err_errno(err, errno, "cannot write %s", path);
}

static bool keep(struct container_log *log, const struct container_line *line, bool is_whole, struct err *err)
{
    AUTO(str) struct str text = {0};

    if (log->is_file_end[!line->is_error])
        str_addc(&text, '\n');
    str_add(&text, line->text.ptr, line->text.len);
    if (is_whole)
        str_addc(&text, '\n');
    log->is_file_end[line->is_error] = !is_whole;
    log->is_file_end[!line->is_error] = false;
    str_add(&log->tail, str_text(&text), text.len);
    if (log->tail.len > 2 * TAIL_BYTES)
        str_drop(&log->tail, log->tail.len - TAIL_BYTES);
    errno = ENOSPC; /* of a write that ends before its end */
    if (log->is_broken || write(log->fd, str_text(&text), text.len) == (ssize_t)text.len)
        return true;
    log->is_broken = true;
    return err_errno(err, errno, "cannot write %s", log->path);
}

bool container_log_add(struct container_log *log, bool is_error, const char *bytes, size_t len,
                       container_line_fn fn, void *ctx, struct err *err)
{
    struct str *part = &log->parts[is_error];
    bool ok = true;

    str_add(part, bytes, len);
    while (part->len) {
        const char *newline = memchr(part->ptr, '\n', part->len);
        size_t end = newline ? (size_t)(newline - part->ptr) : part->len;
        bool is_long = end > LINE_MAX_BYTES;
        struct container_line line = {.text = {part->ptr, is_long ? LINE_MAX_BYTES : end},
                                      .is_error = is_error,
                                      .is_continued = log->is_divided[is_error]};

        if (!newline && len > 0 && !is_long)
            break;
        log->is_divided[is_error] = is_long;
        fn(ctx, &line);
        ok = keep(log, &line, !is_long, err) && ok;
        str_drop(part, line.text.len + (newline && !is_long));
    }
    return ok;
}

char *container_log_tail(const struct container_log *log)
{
    const char *end = str_text(&log->tail) + log->tail.len;
    const char *from = log->tail.len > TAIL_BYTES ? end - TAIL_BYTES : str_text(&log->tail);
    size_t lines = 0;

    for (const char *at = end; at > from; at--)
        if (at[-1] == '\n' && ++lines > TAIL_LINES)
            from = at;
    while (utf8_is_continuation(*from))
        from++;
    return mem_strdup(from);
}

void container_log_release(struct container_log *log)
{
    if (log->path && log->fd >= 0)
        close(log->fd);
    mem_free(log->path);
    str_release(&log->parts[0]);
    str_release(&log->parts[1]);
    str_release(&log->tail);
    *log = (struct container_log){.fd = -1};
}
