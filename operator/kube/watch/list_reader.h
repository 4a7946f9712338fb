/* Cuts the items out of a list answer while its bytes arrive, so that a list of 10,000 objects never exists
 * as one text or tree. What is left without the items (kind, metadata) is small and is kept as text. Pure.
 * Items and envelope have caps. */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "base/doc/json.h"

#define LIST_ENVELOPE_MAX_BYTES ((size_t)64 * 1024)

/* One item's bytes, borrowed. False ends the cutting with the error it set. */
typedef bool (*list_reader_fn)(void *ctx, struct slice item, struct err *err);

struct list_reader {
    struct str envelope; /* the document with an empty items array */
    struct str item;     /* of one item, what has arrived */
    unsigned depth;      /* open braces and brackets in the envelope */
    unsigned item_depth; /* the same in an item; 0 between items */
    char key[8];         /* the latest string at depth 1, as far as it fits: the member's name */
    size_t key_len;
    bool in_items, had_items, in_string, is_escaped;
};

void list_reader_init(struct list_reader *reader, size_t max_item);
void list_reader_release(struct list_reader *reader);
/* ERR_INVALID: not a list, or something larger than its cap. */
MUST_USE bool list_reader_feed(struct list_reader *reader, const char *bytes, size_t len, list_reader_fn fn,
                               void *ctx, struct err *err);
/* After the last byte: the envelope as a tree (owned by the caller). ERR_INVALID if the document is not
 * complete. */
MUST_USE cJSON *list_reader_end(struct list_reader *reader, struct err *err);
