#include "base/core/str.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/core/fnv.h"
#include "base/core/mem.h"

struct slice slice_of(const char *text)
{
    return (struct slice){text, text ? strlen(text) : 0};
}

bool slice_eq(struct slice a, const char *text)
{
    size_t len = strlen(text);

    return a.len == len && (len == 0 || memcmp(a.ptr, text, len) == 0);
}

/* Reserves len more bytes and the terminator, or sets `full`. */
static bool reserve(struct str *s, size_t len)
{
    size_t max = s->max ? s->max : STR_DEFAULT_MAX;

    if (s->full || len > max - s->len) {
        s->full = true;
        return false;
    }
    size_t need = s->len + len + 1;
    if (need <= s->cap)
        return true;
    size_t cap = s->cap ? s->cap : 64;
    while (cap < need)
        cap += cap / 2;
    if (cap > max)
        cap = max + 1; /* need <= max + 1 always holds */
    s->ptr = mem_grow(s->ptr, cap, 1);
    s->cap = cap;
    return true;
}

bool str_add(struct str *s, const void *bytes, size_t len)
{
    if (!reserve(s, len))
        return false;
    if (len > 0)
        memcpy(s->ptr + s->len, bytes, len);
    s->len += len;
    s->ptr[s->len] = '\0';
    return true;
}

bool str_adds(struct str *s, const char *text)
{
    return str_add(s, text, strlen(text));
}

bool str_add_hex(struct str *s, const void *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *byte = bytes;
    bool is_added = true;

    for (size_t i = 0; i < len; i++)
        is_added = str_addc(s, digits[byte[i] >> 4]) && str_addc(s, digits[byte[i] & 15]);
    return is_added;
}

bool str_addc(struct str *s, char c)
{
    return str_add(s, &c, 1);
}

bool str_addf(struct str *s, const char *fmt, ...)
{
    va_list args;
    va_list again;
    bool fits;

    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    fits = len >= 0 && reserve(s, (size_t)len);
    if (fits) {
        (void)vsnprintf(s->ptr + s->len, (size_t)len + 1, fmt, again);
        s->len += (size_t)len;
    }
    va_end(again);
    va_end(args);
    return fits;
}

bool str_add_count(struct str *s, uint64_t count, const char *one, const char *many)
{
    if (count == 1)
        return str_addf(s, "1 %s", one);
    return str_addf(s, "%" PRIu64 " %s%s", count, many ? many : one, many ? "" : "s");
}

void str_drop(struct str *s, size_t len)
{
    if (len == 0)
        return;
    if (len > s->len)
        len = s->len;
    if (len == 0)
        return;
    memmove(s->ptr, s->ptr + len, s->len - len + 1);
    s->len -= len;
}

void str_trim(struct str *s)
{
    size_t blanks = 0;

    while (s->len > 0 && isspace((unsigned char)s->ptr[s->len - 1]))
        s->ptr[--s->len] = '\0';
    while (blanks < s->len && isspace((unsigned char)s->ptr[blanks]))
        blanks++;
    str_drop(s, blanks);
}

void str_clear(struct str *s)
{
    s->len = 0;
    s->full = false;
    if (s->ptr)
        s->ptr[0] = '\0';
}

void str_release(struct str *s)
{
    mem_free(s->ptr);
    *s = (struct str){.max = s->max};
}

char *str_take(struct str *s)
{
    char *text = s->ptr ? s->ptr : mem_strdup("");

    *s = (struct str){.max = s->max};
    return text;
}

const char *str_text(const struct str *s)
{
    return s->ptr ? s->ptr : "";
}

struct slice str_slice(const struct str *s)
{
    return (struct slice){str_text(s), s->len};
}

static void strv_reserve(struct strv *v)
{
    if (v->items && v->count + 1 < v->cap)
        return;
    v->cap = v->cap ? v->cap * 2 : 8;
    v->items = mem_grow(v->items, v->cap, sizeof *v->items);
}

void strv_push_take(struct strv *v, char *text)
{
    strv_reserve(v);
    v->items[v->count++] = text;
    v->items[v->count] = NULL;
}

void strv_push(struct strv *v, const char *text)
{
    strv_push_take(v, mem_strdup(text));
}

void strv_pushf(struct strv *v, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    strv_push_take(v, mem_vprintf(fmt, args));
    va_end(args);
}

void strv_push_all(struct strv *v, const struct strv *from)
{
    for (size_t i = 0; i < from->count; i++)
        strv_push(v, from->items[i]);
}

void strv_split(const char *text, char at, struct strv *ret)
{
    while (text && *text) {
        size_t len = 0;

        while (text[len] && text[len] != at)
            len++;
        if (len)
            strv_push_take(ret, mem_strndup(text, len));
        text += len + (text[len] == at);
    }
}

bool strv_has(const struct strv *v, const char *text)
{
    for (size_t i = 0; i < v->count; i++) {
        if (strcmp(v->items[i], text) == 0)
            return true;
    }
    return false;
}

char **strv_argv(struct strv *v)
{
    if (!v->items) {
        strv_reserve(v);
        v->items[0] = NULL;
    }
    return v->items;
}

void strv_release(struct strv *v)
{
    for (size_t i = 0; i < v->count; i++)
        mem_free(v->items[i]);
    mem_free(v->items);
    *v = (struct strv){0};
}

bool str_has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_has_suffix(const char *text, const char *suffix)
{
    size_t len = strlen(text);
    size_t tail = strlen(suffix);

    return len >= tail && strcmp(text + len - tail, suffix) == 0;
}

bool str_eq(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Unseeded on purpose: the simulator replays runs, and iteration order must be the same in all of them. */
uint64_t str_hash(const char *text)
{
    return fnv64_add_bytes(FNV64_BASIS, text, strlen(text));
}

/* Digits only; accumulates negatively, because INT64_MIN has no positive counterpart. */
bool parse_i64(const char *text, int64_t min, int64_t max, int64_t *ret)
{
    bool negative = text && *text == '-';
    const char *at = negative ? text + 1 : text;
    int64_t value = 0;

    if (!at || !*at)
        return false;
    for (; *at; at++) {
        if (*at < '0' || *at > '9')
            return false;
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_sub_overflow(value, *at - '0', &value))
            return false;
    }
    if (!negative && __builtin_sub_overflow(0, value, &value))
        return false;
    if (value < min || value > max)
        return false;
    *ret = value;
    return true;
}

bool parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *ret)
{
    int64_t value;

    if (!parse_i64(text, min, max, &value))
        return false;
    *ret = (uint32_t)value;
    return true;
}
