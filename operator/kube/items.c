#include "operator/kube/items.h"

#include <string.h>

void items_init(struct items *items, size_t max_item)
{
    *items = (struct items){.envelope = {.max = ITEMS_ENVELOPE_MAX_BYTES}, .item = {.max = max_item}};
}

void items_release(struct items *items)
{
    str_release(&items->envelope);
    str_release(&items->item);
}

/* True while the byte belongs to a string, its closing quote included; the opening quote is not its business.
 */
static bool skip_string(struct items *items, char c)
{
    if (!items->in_string)
        return false;
    if (items->is_escaped)
        items->is_escaped = false;
    else if (c == '\\')
        items->is_escaped = true;
    else if (c == '"')
        items->in_string = false;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* How many of the bytes belong to the current item; item_depth is 0 afterwards when it is complete. */
static size_t scan_item(struct items *items, const char *bytes, size_t len)
{
    size_t at = 0;

    while (at < len) {
        char c = bytes[at++];

        if (skip_string(items, c))
            continue;
        if (c == '"')
            items->in_string = true;
        else if (c == '{' || c == '[')
            items->item_depth++;
        else if ((c == '}' || c == ']') && --items->item_depth == 0)
            break;
    }
    return at;
}

static bool take_item(struct items *items, const char *bytes, size_t len, size_t *at, items_fn fn, void *ctx,
                      struct err *err)
{
    size_t count = scan_item(items, bytes + *at, len - *at);

    if (!str_add(&items->item, bytes + *at, count))
        return err_set(err, ERR_INVALID, "an item of the list is larger than %zu bytes", items->item.max);
    *at += count;
    if (items->item_depth > 0)
        return true;
    if (!fn(ctx, str_slice(&items->item), err))
        return false;
    str_clear(&items->item);
    return true;
}

static bool between_items(struct items *items, char c, struct err *err)
{
    if (is_blank(c) || c == ',')
        return true;
    if (c == '{') {
        items->item_depth = 1;
        str_addc(&items->item, c);
        return true;
    }
    if (c != ']')
        return err_set(err, ERR_INVALID, "the items of the list are not objects");
    items->in_items = false;
    items->depth--;
    str_addc(&items->envelope, c);
    return true;
}

static bool is_items_array(const struct items *items, char c)
{
    return c == '[' && items->depth == 1 && items->key_len == 5 && memcmp(items->key, "items", 5) == 0;
}

static void envelope_structure(struct items *items, char c)
{
    if (c == '"') {
        items->in_string = true;
        if (items->depth == 1)
            items->key_len = 0;
    } else if (c == '{' || c == '[') {
        items->in_items = is_items_array(items, c) && !items->had_items;
        items->had_items = items->had_items || items->in_items;
        items->depth++;
    } else if (c == '}' || c == ']') {
        items->depth -= items->depth > 0;
    } else if (c == ',' && items->depth == 1) {
        items->key_len = 0;
    }
}

static bool in_envelope(struct items *items, char c, struct err *err)
{
    if (!str_addc(&items->envelope, c))
        return err_set(err, ERR_INVALID, "the list has more than %zu bytes beside its items",
                       ITEMS_ENVELOPE_MAX_BYTES);
    if (!skip_string(items, c))
        envelope_structure(items, c);
    else if (items->depth == 1 && items->in_string && items->key_len < sizeof(items->key))
        items->key[items->key_len++] = c;
    return true;
}

bool items_push(struct items *items, const char *bytes, size_t len, items_fn fn, void *ctx, struct err *err)
{
    for (size_t at = 0; at < len;) {
        bool ok;

        if (items->item_depth > 0)
            ok = take_item(items, bytes, len, &at, fn, ctx, err);
        else if (items->in_items)
            ok = between_items(items, bytes[at++], err);
        else
            ok = in_envelope(items, bytes[at++], err);
        if (!ok)
            return false;
    }
    return true;
}

cJSON *items_end(struct items *items, struct err *err)
{
    if (items->in_items) {
        err_set(err, ERR_INVALID, "the list ends in the middle of its items");
        return NULL;
    }
    return json_parse(str_slice(&items->envelope), err);
}
