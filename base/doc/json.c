#include "base/doc/json.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/doc/json_bigint.h"
#include "base/text/timefmt.h"

/* cJSON allocates here, so that running out of memory aborts instead of looking like a syntax error. */
static void *json_memory(size_t size)
{
    return mem_grow(NULL, size, 1);
}

/* Before main, because a tree may be built with cJSON's own functions before any of these. */
__attribute__((constructor)) static void hook_memory(void)
{
    cJSON_Hooks hooks = {.malloc_fn = json_memory, .free_fn = mem_free};

    cJSON_InitHooks(&hooks);
}

/* The next \u0000 from `at` on, unless it is an escaped backslash before four zeros; NULL if there is none.
 */
static const char *find_nul(struct slice text, const char *at)
{
    static const char escape[] = "\\u0000";
    const char *end = text.ptr + text.len;

    for (; (at = memmem(at, (size_t)(end - at), escape, sizeof escape - 1)); at++) {
        size_t backslashes = 0;
        while (at - backslashes > text.ptr && at[-1 - (ptrdiff_t)backslashes] == '\\')
            backslashes++;
        if (backslashes % 2 == 0)
            return at;
    }
    return NULL;
}

/* cJSON ends a string at \u0000 and would read "a\u0000b" as "a". If a program prints one and fails, its
 * pod's status contains it and must still be readable: so it becomes U+FFFD, the replacement character. The
 * text without it, owned by the caller; NULL if there is none in it. */
static char *without_nuls(struct slice text)
{
    static const char shown[] = "\\ufffd";
    const char *at = find_nul(text, text.ptr);
    char *copy = at ? mem_dup(text.ptr, text.len) : NULL;

    for (; at; at = find_nul(text, at + sizeof shown - 1))
        memcpy(copy + (at - text.ptr), shown, sizeof shown - 1);
    return copy;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

static cJSON *parse(struct slice text, struct err *err)
{
    const char *stop = text.ptr, *end = text.ptr + text.len;
    AUTO(json) cJSON *doc = cJSON_ParseWithLengthOpts(text.ptr, text.len, &stop, false);

    stop = doc ? skip_blanks(stop, end) : stop;
    if (!doc || stop != end) {
        err_set(err, ERR_INVALID, "invalid JSON at byte %td (or nested deeper than %d)", stop - text.ptr,
                CJSON_NESTING_LIMIT);
        return NULL;
    }
    json_keep_bigints(doc, text);
    return TAKE(doc);
}

cJSON *json_parse(struct slice text, struct err *err)
{
    const char *nul = text.len ? memchr(text.ptr, '\0', text.len) : NULL;
    AUTO(mem) char *copy = NULL;

    if (text.len == 0) {
        err_set(err, ERR_INVALID, "expected JSON, got an empty text");
        return NULL;
    }
    if (text.len > JSON_MAX_BYTES) {
        err_set(err, ERR_INVALID, "JSON is too large: %zu bytes, limit %zu", text.len, JSON_MAX_BYTES);
        return NULL;
    }
    if (nul) {
        err_set(err, ERR_INVALID, "invalid JSON: NUL byte at byte %td", nul - text.ptr);
        return NULL;
    }
    copy = without_nuls(text);
    return parse(copy ? (struct slice){copy, text.len} : text, err);
}

static char *print(const cJSON *node, bool pretty)
{
    enum { FIRST_BYTES = 1024 };
    char *text = cJSON_PrintBuffered(node, FIRST_BYTES, pretty);

    assert(text); /* only a tree with a broken node cannot be printed */
    /* cJSON's buffer is up to twice as large, and many of the texts are kept for long. */
    return mem_grow(text, strlen(text) + 1, 1);
}

char *json_print(const cJSON *node)
{
    return print(node, false);
}

char *json_print_pretty(const cJSON *node)
{
    return print(node, true);
}

static int kind_of(const cJSON *node)
{
    return node->type & 0xFF;
}

static size_t count_of(const cJSON *node)
{
    size_t count = 0;

    JSON_EACH (item, node)
        count++;
    return count;
}

static bool arrays_equal(const cJSON *a, const cJSON *b)
{
    const cJSON *left = a->child;
    const cJSON *right = b->child;

    for (; left && right; left = left->next, right = right->next) {
        if (!json_equal(left, right))
            return false;
    }
    return !left && !right;
}

static bool have_keys_in_one_order(const cJSON *a, const cJSON *b)
{
    const cJSON *left = a->child;
    const cJSON *right = b->child;

    while (left && right && strcmp(left->string, right->string) == 0) {
        left = left->next;
        right = right->next;
    }
    return !left && !right;
}

static int by_key(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

static const cJSON **sorted_members(const cJSON *object, size_t count)
{
    const cJSON **members = mem_alloc((count + 1) * sizeof(*members));
    size_t i = 0;

    JSON_EACH (item, object)
        members[i++] = item;
    qsort(members, count, sizeof(*members), by_key);
    return members;
}

/* Sorted, because the number of members comes from outside: searching for each in the other object would
 * take minutes. */
static bool objects_equal(const cJSON *a, const cJSON *b)
{
    size_t count = count_of(a);
    AUTO(mem) const cJSON **left = NULL;
    AUTO(mem) const cJSON **right = NULL;
    bool equal = count == count_of(b);

    if (!equal || have_keys_in_one_order(a, b))
        return equal && arrays_equal(a, b);
    left = sorted_members(a, count);
    right = sorted_members(b, count);
    for (size_t i = 0; equal && i < count; i++)
        equal = by_key(&left[i], &right[i]) == 0 && json_equal(left[i], right[i]);
    return equal;
}

bool json_equal(const cJSON *a, const cJSON *b)
{
    if (!a || !b)
        return a == b;
    if (kind_of(a) != kind_of(b))
        return false;
    switch (kind_of(a)) {
    case cJSON_Number:
        return !(a->valuedouble < b->valuedouble) && !(a->valuedouble > b->valuedouble);
    case cJSON_String:
    case cJSON_Raw:
        return strcmp(a->valuestring, b->valuestring) == 0;
    case cJSON_Object:
        return objects_equal(a, b);
    case cJSON_Array:
        return arrays_equal(a, b);
    default:
        return true;
    }
}

cJSON *json_dup(const cJSON *node)
{
    return node ? cJSON_Duplicate(node, true) : NULL;
}

/* Compares a key with one segment of a path, which has '~' and '/' written as "~0" and "~1". */
static bool key_is(const char *key, const char *segment, size_t len)
{
    for (size_t i = 0; i < len; i++, key++) {
        char c = segment[i];
        if (c == '~' && i + 1 < len && (segment[i + 1] == '0' || segment[i + 1] == '1'))
            c = segment[++i] == '0' ? '~' : '/';
        if (*key != c)
            return false;
    }
    return *key == '\0';
}

const cJSON *json_at(const cJSON *node, const char *path)
{
    while (node && *path) {
        size_t len = strcspn(path, "/");
        const cJSON *child = cJSON_IsObject(node) ? node->child : NULL;

        while (child && !key_is(child->string, path, len))
            child = child->next;
        node = child;
        path += path[len] ? len + 1 : len;
    }
    return node;
}

cJSON *json_at_mut(cJSON *node, const char *path)
{
    return (cJSON *)(uintptr_t)json_at(node, path);
}

const char *json_str(const cJSON *node, const char *path, const char *fallback)
{
    const cJSON *at = json_at(node, path);

    return cJSON_IsString(at) ? at->valuestring : fallback;
}

bool json_bool(const cJSON *node, const char *path, bool fallback)
{
    const cJSON *at = json_at(node, path);

    return cJSON_IsBool(at) ? cJSON_IsTrue(at) : fallback;
}

int64_t json_i64(const cJSON *node, const char *path, int64_t fallback)
{
    const double exact = 9007199254740992.0; /* 2^53: above it, doubles skip whole numbers */
    const cJSON *at = json_at(node, path);

    if (!cJSON_IsNumber(at) || !(fabs(at->valuedouble) <= exact))
        return fallback;
    int64_t whole = (int64_t)at->valuedouble;
    return (double)whole < at->valuedouble || (double)whole > at->valuedouble ? fallback : whole;
}

const char *json_key(const cJSON *node)
{
    return node ? node->string : NULL;
}

cJSON *json_object(void)
{
    return cJSON_CreateObject();
}

cJSON *json_array(void)
{
    return cJSON_CreateArray();
}

cJSON *json_put_take(cJSON *object, const char *key, cJSON *value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    bool added = cJSON_AddItemToObject(object, key, value);
    assert(added); /* fails for a NULL part, or a value put into itself: bugs of the caller */
    (void)added;
    return value;
}

cJSON *json_push_take(cJSON *array, cJSON *value)
{
    bool added = cJSON_AddItemToArray(array, value);

    assert(added);
    (void)added;
    return value;
}

cJSON *json_put_str(cJSON *object, const char *key, const char *text)
{
    return text ? json_put_take(object, key, cJSON_CreateString(text)) : NULL;
}

cJSON *json_put_strf(cJSON *object, const char *key, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    AUTO(mem) char *text = mem_vprintf(fmt, args);
    va_end(args);
    return json_put_str(object, key, text);
}

cJSON *json_put_i64(cJSON *object, const char *key, int64_t value)
{
    /* cJSON prints larger ones with an exponent, which readers of integers reject. */
    assert(value > -1000000000000000 && value < 1000000000000000);
    return json_put_take(object, key, cJSON_CreateNumber((double)value));
}

cJSON *json_put_time(cJSON *object, const char *key, int64_t unix_s)
{
    char text[TIMEFMT_RFC3339_SIZE];

    return json_put_str(object, key, unix_s == INT64_MAX ? NULL : timefmt_rfc3339(unix_s, text));
}

cJSON *json_put_bool(cJSON *object, const char *key, bool value)
{
    return json_put_take(object, key, cJSON_CreateBool(value));
}

cJSON *json_put_object(cJSON *object, const char *key)
{
    return json_put_take(object, key, json_object());
}

cJSON *json_put_array(cJSON *object, const char *key)
{
    return json_put_take(object, key, json_array());
}

cJSON *json_push_str(cJSON *array, const char *text)
{
    return text ? json_push_take(array, cJSON_CreateString(text)) : NULL;
}

void json_drop(cJSON *object, const char *key)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
}

void json_drop_child(cJSON *parent, cJSON *child)
{
    cJSON_Delete(cJSON_DetachItemViaPointer(parent, child));
}
