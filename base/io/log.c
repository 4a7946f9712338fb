#include "base/io/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/text/timefmt.h"
#include "base/core/visible.h"

enum { RING_SLOTS = 8, RING_BYTES = 1024, TEXT_MAX_BYTES = 8 * 1024 };

static const char *const level_names[] = {"debug", "info", "warn", "error"};

/* The process has one stderr, and so one level and format. */
static struct {
    enum log_level least;
    bool json;
    char ring[RING_SLOTS][RING_BYTES];
    unsigned turn;
} state = {.least = LOG_INFO};

void log_setup(enum log_level least, bool json)
{
    state.least = least;
    state.json = json;
}

bool log_parse_level(const char *text, enum log_level *ret)
{
    for (unsigned i = 0; i < COUNT_OF(level_names); i++) {
        if (str_eq(text, level_names[i])) {
            *ret = (enum log_level)i;
            return true;
        }
    }
    return false;
}

const char *log_level_name(enum log_level level)
{
    return level_names[level];
}

enum log_level log_level(void)
{
    return state.least;
}

void log_set_level(enum log_level least)
{
    state.least = least;
}

bool log_enabled(enum log_level level)
{
    return level >= state.least;
}

const char *log_fmt(const char *fmt, ...)
{
    char *slot = state.ring[state.turn++ % RING_SLOTS];
    va_list args;

    va_start(args, fmt);
    int len = vsnprintf(slot, RING_BYTES, fmt, args);
    va_end(args);
    if (len >= RING_BYTES)
        memcpy(slot + RING_BYTES - sizeof "...", "...", sizeof "...");
    return slot;
}

/* Valid inside JSON quotes, and harmless in a terminal. One long value must not push out the rest of its
 * line. */
static void add_escaped(struct str *line, const char *text)
{
    size_t left = strlen(text), most = left > TEXT_MAX_BYTES ? left - TEXT_MAX_BYTES : 0;

    while (left > most) {
        size_t len = visible_len(text, left);

        if (*text == '"' || *text == '\\')
            (void)str_addf(line, "\\%c", *text);
        else if (*text == '\n')
            (void)str_adds(line, "\\n");
        else if (len > 0)
            (void)str_add(line, text, len);
        else
            (void)str_addf(line, "\\u%04x", (unsigned char)*text);
        len = len > 0 ? len : 1;
        text += len;
        left = left > len ? left - len : 0;
    }
    if (left)
        (void)str_adds(line, "...");
}

static void add_quoted(struct str *line, const char *text)
{
    (void)str_addc(line, '"');
    add_escaped(line, text);
    (void)str_addc(line, '"');
}

static bool is_plain(const char *text)
{
    for (const char *at = text; *at; at++) {
        if (*at <= ' ' || *at >= 0x7F || *at == '"' || *at == '\\' || *at == '=')
            return false;
    }
    return *text != '\0' && strlen(text) <= TEXT_MAX_BYTES;
}

static void add_head(struct str *line, enum log_level level, const char *msg)
{
    if (!state.json) {
        (void)str_addf(line, "%s ", level_names[level]);
        add_escaped(line, msg);
        return;
    }
    char now[TIMEFMT_RFC3339_SIZE];
    (void)str_addf(line, "{\"time\":\"%s\",\"level\":\"%s\",\"msg\":", timefmt_rfc3339(time(NULL), now),
                   level_names[level]);
    add_quoted(line, msg);
}

static void add_pair(struct str *line, struct log_kv kv)
{
    if (state.json) {
        (void)str_addc(line, ',');
        add_quoted(line, kv.key);
        (void)str_addc(line, ':');
        add_quoted(line, kv.value);
        return;
    }
    (void)str_addf(line, " %s=", kv.key);
    if (is_plain(kv.value))
        (void)str_adds(line, kv.value);
    else
        add_quoted(line, kv.value);
}

/* One write per line, so that lines of several processes on one stderr are not mixed. */
static void emit(const struct str *line)
{
    const char *at = str_text(line);
    size_t left = line->len;

    while (left > 0) {
        ssize_t put = write(STDERR_FILENO, at, left);
        if (put < 0 && errno != EINTR)
            return; /* a failure cannot be reported */
        if (put > 0) {
            at += put;
            left -= (size_t)put;
        }
    }
}

void log_write(enum log_level level, const char *msg, ...)
{
    AUTO(str) struct str line = {0};
    int saved = errno;
    va_list args;

    if (!log_enabled(level))
        return;
    add_head(&line, level, msg);
    va_start(args, msg);
    for (struct log_kv kv = va_arg(args, struct log_kv); kv.key; kv = va_arg(args, struct log_kv)) {
        if (kv.value)
            add_pair(&line, kv);
    }
    va_end(args);
    (void)str_adds(&line, state.json ? "}\n" : "\n");
    emit(&line);
    errno = saved;
}
