#include "operator/kube/watch/list_reader.h"

#include <string.h>

void list_reader_init(struct list_reader *reader, size_t max_item)
{
    *reader = (struct list_reader){.envelope = {.max = LIST_ENVELOPE_MAX_BYTES}, .item = {.max = max_item}};
}

void list_reader_release(struct list_reader *reader)
{
    str_release(&reader->envelope);
    str_release(&reader->item);
}

/* True while the byte belongs to a string, its closing quote included; the opening quote is not its business.
 */
static bool skip_string(struct list_reader *reader, char c)
{
    if (!reader->in_string)
        return false;
    if (reader->is_escaped)
        reader->is_escaped = false;
    else if (c == '\\')
        reader->is_escaped = true;
    else if (c == '"')
        reader->in_string = false;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* How many of the bytes belong to the current item; item_depth is 0 afterwards when it is complete. */
static size_t scan_item(struct list_reader *reader, const char *bytes, size_t len)
{
    size_t at = 0;

    while (at < len) {
        char c = bytes[at++];

        if (skip_string(reader, c))
            continue;
        if (c == '"')
            reader->in_string = true;
        else if (c == '{' || c == '[')
            reader->item_depth++;
        else if ((c == '}' || c == ']') && --reader->item_depth == 0)
            break;
    }
    return at;
}

static bool take_item(struct list_reader *reader, const char *bytes, size_t len, size_t *at,
                      list_reader_fn fn, void *ctx, struct err *err)
{
    size_t count = scan_item(reader, bytes + *at, len - *at);

    if (!str_add(&reader->item, bytes + *at, count))
        return err_set(err, ERR_INVALID, "an item of the list is larger than %zu bytes", reader->item.max);
    *at += count;
    if (reader->item_depth > 0)
        return true;
    if (!fn(ctx, str_slice(&reader->item), err))
        return false;
    str_clear(&reader->item);
    return true;
}

static bool between_items(struct list_reader *reader, char c, struct err *err)
{
    if (is_blank(c) || c == ',')
        return true;
    if (c == '{') {
        reader->item_depth = 1;
        str_addc(&reader->item, c);
        return true;
    }
    if (c != ']')
        return err_set(err, ERR_INVALID, "the items of the list are not objects");
    reader->in_items = false;
    reader->depth--;
    str_addc(&reader->envelope, c);
    return true;
}

static bool is_items_array(const struct list_reader *reader, char c)
{
    return c == '[' && reader->depth == 1 && reader->key_len == 5 && memcmp(reader->key, "items", 5) == 0;
}

static void envelope_structure(struct list_reader *reader, char c)
{
    if (c == '"') {
        reader->in_string = true;
        if (reader->depth == 1)
            reader->key_len = 0;
    } else if (c == '{' || c == '[') {
        reader->in_items = is_items_array(reader, c) && !reader->had_items;
        reader->had_items = reader->had_items || reader->in_items;
        reader->depth++;
    } else if (c == '}' || c == ']') {
        reader->depth -= reader->depth > 0;
    } else if (c == ',' && reader->depth == 1) {
        reader->key_len = 0;
    }
}

static bool in_envelope(struct list_reader *reader, char c, struct err *err)
{
    if (!str_addc(&reader->envelope, c))
        return err_set(err, ERR_INVALID, "the list has more than %zu bytes outside its items",
                       LIST_ENVELOPE_MAX_BYTES);
    if (!skip_string(reader, c))
        envelope_structure(reader, c);
    else if (reader->depth == 1 && reader->in_string && reader->key_len < sizeof(reader->key))
        reader->key[reader->key_len++] = c;
    return true;
}

bool list_reader_feed(struct list_reader *reader, const char *bytes, size_t len, list_reader_fn fn, void *ctx,
                      struct err *err)
{
    for (size_t at = 0; at < len;) {
        bool ok;

        if (reader->item_depth > 0)
            ok = take_item(reader, bytes, len, &at, fn, ctx, err);
        else if (reader->in_items)
            ok = between_items(reader, bytes[at++], err);
        else
            ok = in_envelope(reader, bytes[at++], err);
        if (!ok)
            return false;
    }
    return true;
}

cJSON *list_reader_end(struct list_reader *reader, struct err *err)
{
    if (reader->in_items) {
        err_set(err, ERR_INVALID, "the list ends in the middle of its items");
        return NULL;
    }
    return json_parse(str_slice(&reader->envelope), err);
}
