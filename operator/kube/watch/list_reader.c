#include "operator/kube/watch/list_reader.h"

#include <string.h>

void list_reader_init(struct list_reader *list_reader, size_t max_item)
{
    *list_reader =
        (struct list_reader){.envelope = {.max = LIST_ENVELOPE_MAX_BYTES}, .item = {.max = max_item}};
}

void list_reader_release(struct list_reader *list_reader)
{
    str_release(&list_reader->envelope);
    str_release(&list_reader->item);
}

/* True while the byte belongs to a string, its closing quote included; the opening quote is not its business.
 */
static bool skip_string(struct list_reader *list_reader, char c)
{
    if (!list_reader->in_string)
        return false;
    if (list_reader->is_escaped)
        list_reader->is_escaped = false;
    else if (c == '\\')
        list_reader->is_escaped = true;
    else if (c == '"')
        list_reader->in_string = false;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* How many of the bytes belong to the current item; item_depth is 0 afterwards when it is complete. */
static size_t scan_item(struct list_reader *list_reader, const char *bytes, size_t len)
{
    size_t at = 0;

    while (at < len) {
        char c = bytes[at++];

        if (skip_string(list_reader, c))
            continue;
        if (c == '"')
            list_reader->in_string = true;
        else if (c == '{' || c == '[')
            list_reader->item_depth++;
        else if ((c == '}' || c == ']') && --list_reader->item_depth == 0)
            break;
    }
    return at;
}

static bool take_item(struct list_reader *list_reader, const char *bytes, size_t len, size_t *at,
                      list_reader_fn fn, void *ctx, struct err *err)
{
    size_t count = scan_item(list_reader, bytes + *at, len - *at);

    if (!str_add(&list_reader->item, bytes + *at, count))
        return err_set(err, ERR_INVALID, "an item of the list is larger than %zu bytes",
                       list_reader->item.max);
    *at += count;
    if (list_reader->item_depth > 0)
        return true;
    if (!fn(ctx, str_slice(&list_reader->item), err))
        return false;
    str_clear(&list_reader->item);
    return true;
}

static bool between_items(struct list_reader *list_reader, char c, struct err *err)
{
    if (is_blank(c) || c == ',')
        return true;
    if (c == '{') {
        list_reader->item_depth = 1;
        str_addc(&list_reader->item, c);
        return true;
    }
    if (c != ']')
        return err_set(err, ERR_INVALID, "the items of the list are not objects");
    list_reader->in_items = false;
    list_reader->depth--;
    str_addc(&list_reader->envelope, c);
    return true;
}

static bool is_items_array(const struct list_reader *list_reader, char c)
{
    return c == '[' && list_reader->depth == 1 && list_reader->key_len == 5 &&
           memcmp(list_reader->key, "items", 5) == 0;
}

static void envelope_structure(struct list_reader *list_reader, char c)
{
    if (c == '"') {
        list_reader->in_string = true;
        if (list_reader->depth == 1)
            list_reader->key_len = 0;
    } else if (c == '{' || c == '[') {
        list_reader->in_items = is_items_array(list_reader, c) && !list_reader->had_items;
        list_reader->had_items = list_reader->had_items || list_reader->in_items;
        list_reader->depth++;
    } else if (c == '}' || c == ']') {
        list_reader->depth -= list_reader->depth > 0;
    } else if (c == ',' && list_reader->depth == 1) {
        list_reader->key_len = 0;
    }
}

static bool in_envelope(struct list_reader *list_reader, char c, struct err *err)
{
    if (!str_addc(&list_reader->envelope, c))
        return err_set(err, ERR_INVALID, "the list has more than %zu bytes outside its items",
                       LIST_ENVELOPE_MAX_BYTES);
    if (!skip_string(list_reader, c))
        envelope_structure(list_reader, c);
    else if (list_reader->depth == 1 && list_reader->in_string &&
             list_reader->key_len < sizeof(list_reader->key))
        list_reader->key[list_reader->key_len++] = c;
    return true;
}

bool list_reader_feed(struct list_reader *list_reader, const char *bytes, size_t len, list_reader_fn fn,
                      void *ctx, struct err *err)
{
    for (size_t at = 0; at < len;) {
        bool ok;

        if (list_reader->item_depth > 0)
            ok = take_item(list_reader, bytes, len, &at, fn, ctx, err);
        else if (list_reader->in_items)
            ok = between_items(list_reader, bytes[at++], err);
        else
            ok = in_envelope(list_reader, bytes[at++], err);
        if (!ok)
            return false;
    }
    return true;
}

cJSON *list_reader_end(struct list_reader *list_reader, struct err *err)
{
    if (list_reader->in_items) {
        err_set(err, ERR_INVALID, "the list ends in the middle of its items");
        return NULL;
    }
    return json_parse(str_slice(&list_reader->envelope), err);
}
