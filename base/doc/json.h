/* JSON based on cJSON: parsing with limits, reading by path, building. A document is a cJSON tree, owned by
 * the caller that parsed or created it. Failed allocations abort. Numbers are doubles, printed with fifteen
 * digits: keep 64-bit ids as strings. Longer integers that were parsed are passed on unchanged (as
 * cJSON_Raw) and do not count as numbers. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/mem.h"
#include "base/core/str.h"

#define JSON_MAX_BYTES ((size_t)8 * 1024 * 1024)

/* ERR_INVALID names the byte offset. Trailing bytes other than white space are an error. The character NUL,
 * which a C string cannot contain, is read as U+FFFD. */
MUST_USE cJSON *json_parse(struct slice text, struct err *err);
char *json_print(const cJSON *node);        /* compact, owned by the caller */
char *json_print_pretty(const cJSON *node); /* owned by the caller */
/* The order of an object's members does not matter. NULL equals only NULL. */
bool json_equal(const cJSON *a, const cJSON *b);
cJSON *json_dup(const cJSON *node); /* deep copy, owned by the caller */

static inline void json_auto(cJSON **doc)
{
    cJSON_Delete(*doc);
}

/* Reading. `path` is keys joined by '/' without a leading one ("metadata/name"); "~1" in a key means '/',
 * "~0" '~'. All accept NULL and return the default if the path or the type does not match. Strings are
 * borrowed. */
const cJSON *json_at(const cJSON *node, const char *path);
cJSON *json_at_mut(cJSON *node, const char *path);
const char *json_str(const cJSON *node, const char *path, const char *fallback);
bool json_bool(const cJSON *node, const char *path, bool fallback);
int64_t json_i64(const cJSON *node, const char *path, int64_t fallback); /* integers only */
const char *json_key(const cJSON *node);                                 /* the member's own key, or NULL */

#define JSON_EACH(item, array)                                                                               \
    for (const cJSON *item = (array) ? (array)->child : NULL; item; item = item->next)

/* Building. They return the child that was added (borrowed, owned by the parent); NULL text adds nothing. */
cJSON *json_object(void);
cJSON *json_array(void);
cJSON *json_put_str(cJSON *object, const char *key, const char *text);
cJSON *json_put_strf(cJSON *object, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
cJSON *json_put_i64(cJSON *object, const char *key, int64_t value);
/* RFC 3339 in UTC; INT64_MAX, which nobody knows, adds nothing. */
cJSON *json_put_time(cJSON *object, const char *key, int64_t unix_s);
cJSON *json_put_bool(cJSON *object, const char *key, bool value);
cJSON *json_put_object(cJSON *object, const char *key);
cJSON *json_put_array(cJSON *object, const char *key);
cJSON *json_put_take(cJSON *object, const char *key,
                     cJSON *value); /* moves value in; replaces an existing member */
cJSON *json_push_take(cJSON *array, cJSON *value);
cJSON *json_push_str(cJSON *array, const char *text);
/* Shows control characters as text (visible.h) in every string of the tree, with what of them is to be kept.
 * Not in the names of members. */
void json_make_visible(cJSON *tree, const char *kept);
void json_drop(cJSON *object, const char *key);
void json_drop_child(cJSON *parent, cJSON *child); /* at once, however many children there are */
