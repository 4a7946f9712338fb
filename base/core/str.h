/* Bytes. `struct str` owns a growing, always terminated buffer with a limit; `struct slice` borrows. A
 * zeroed struct str is empty and valid; max 0 means STR_DEFAULT_MAX. An append that would exceed the limit
 * adds nothing, sets `full` and returns false; later appends fail too, so a builder may check `full` once at
 * the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/mem.h"

#define STR_DEFAULT_MAX ((size_t)16 * 1024 * 1024)

struct slice {
    const char *ptr;
    size_t len;
};

struct str {
    char *ptr; /* NULL until the first append; use str_text() where a C string is needed */
    size_t len;
    size_t cap;
    size_t max;
    bool full;
};

#define SLICE_LIT(text) ((struct slice){(text), sizeof(text) - 1})

struct slice slice_of(const char *text); /* NULL gives an empty slice */
bool slice_eq(struct slice a, const char *text);

bool str_add(struct str *s, const void *bytes, size_t len);
bool str_adds(struct str *s, const char *text);
bool str_addc(struct str *s, char c);
bool str_add_hex(struct str *s, const void *bytes, size_t len); /* two lower-case digits each */
bool str_addf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "1 pod", "4 pods"; many is the irregular plural, NULL for one with an "s" added. */
bool str_add_count(struct str *s, uint64_t count, const char *one, const char *many);
void str_drop(struct str *s, size_t len); /* removes len bytes from the front */
void str_trim(struct str *s);             /* removes white space at both ends */
void str_clear(struct str *s);            /* keeps the buffer, clears `full` */
void str_release(struct str *s);
DEFINE_AUTO(str);
char *str_take(struct str *s);             /* owned by the caller; "" if empty; s is empty afterwards */
const char *str_text(const struct str *s); /* "" if empty */
struct slice str_slice(const struct str *s);

/* A NULL-terminated vector of owned strings. A zeroed struct strv is empty; use strv_argv() to get `char **`.
 */
struct strv {
    char **items;
    size_t count;
    size_t cap;
};

void strv_push(struct strv *v, const char *text);
void strv_pushf(struct strv *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strv_push_take(struct strv *v, char *text);
void strv_push_all(struct strv *v, const struct strv *from);
void strv_split(const char *text, char at,
                struct strv *ret); /* appends what is between the separators, except empty strings */
bool strv_has(const struct strv *v, const char *text);
char **strv_argv(struct strv *v); /* never NULL, borrowed */
void strv_release(struct strv *v);
DEFINE_AUTO(strv);

bool str_has_prefix(const char *text, const char *prefix);
bool str_has_suffix(const char *text, const char *suffix);
bool str_eq(const char *a, const char *b); /* NULL equals only NULL */
uint64_t str_hash(const char *text);       /* the same in every process; not resistant to attacks */

/* The whole text is one decimal number in [min, max]; no sign but '-', no spaces. *ret is unchanged on
 * failure. */
bool parse_i64(const char *text, int64_t min, int64_t max, int64_t *ret);
bool parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *ret);
