/* A list in pages, with the words of the Kubernetes API: `limit` items at most, and `continue`, a token of
 * the page before, that says where to go on. The token names the last item, so that a list that has changed
 * in between loses none.
 *
 * All readers of a list share one snapshot of its order. It has places, not items: a reader costs the items
 * of one page, which are printed as they are now, however long the list is. What is kept in order anyway is
 * in no snapshot, but found place by place. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "base/doc/json.h"

#define PAGE_ITEMS_MAX 500u /* also if no limit is given */
#define PAGE_RANKS 4

/* The lists that name jobs, or what serves them. */
enum page_list { PAGE_QUEUE, PAGE_CONTROLLERS, PAGE_PARTITIONS, PAGE_LISTS };

/* "/queue"; the member of the page that has the items is named likewise. */
const char *page_list_path(enum page_list list);

/* The place of an item: by its ranks, the first one first, then by its name. */
struct page_place {
    uint64_t ranks[PAGE_RANKS];
    const char *name; /* borrowed */
};

struct page_request {
    uint32_t limit;
    bool continues;
    struct page_place after; /* if it continues; borrows the name */
    char *name;
};

void page_request_release(struct page_request *request);
DEFINE_AUTO(page_request);

/* From the query of a request, with what it does not know ignored. ERR_INVALID: nothing is kept. */
MUST_USE bool page_request_read(const char *query, struct page_request *ret, struct err *err);

/* The place behind that one; NULL: the first. False: there is none. */
typedef bool (*page_next_fn)(void *ctx, const struct page_place *after, struct page_place *ret);

struct page_snapshot {
    page_next_fn next;       /* what precedes the rows, with the ctx of page_print_fn; NULL: nothing */
    struct page_place *rows; /* in their order */
    size_t count, cap;
    struct strv names; /* that the rows borrow */
    int64_t until_ms;  /* it is used until then: a longer list is listed less often */
};

/* Adds all rows, in any order, and sets `next` if it needs it. */
typedef void (*page_list_fn)(const void *ctx, struct page_snapshot *ret);
/* The item at a place, owned by the caller; NULL: it has left the list. */
typedef cJSON *(*page_print_fn)(void *ctx, const struct page_place *place);

void page_snapshot_release(struct page_snapshot *snapshot);
DEFINE_AUTO(page_snapshot);
/* A copy that the rows may borrow. */
const char *page_snapshot_keep(struct page_snapshot *snapshot, const char *name);
void page_snapshot_add(struct page_snapshot *snapshot, const struct page_place *place);
/* Lists again, unless the snapshot is recent enough. */
void page_snapshot_refresh(struct page_snapshot *snapshot, int64_t now_ms, page_list_fn list,
                           const void *ctx);
/* Adds the items of one page to `out`, and "continue" unless nothing follows. */
void page_snapshot_print(const struct page_snapshot *snapshot, enum page_list list,
                         const struct page_request *request, page_print_fn print, void *ctx, cJSON *out);
