/* A list in pages, with the words of the Kubernetes API: `limit` items at most, and `continue`, a token of
 * the page before, that says where to go on. The token names the last item, so that a list that has changed
 * in between loses none. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/doc/json.h"

#define PAGE_ITEMS_MAX 500u /* also if no limit is given */

struct page_request {
    uint32_t limit;
    char *after; /* the token; NULL: from the start */
};

void page_request_release(struct page_request *page);
DEFINE_AUTO(page_request);

/* From the query of a request, with what it does not know ignored. ERR_INVALID: nothing is kept. */
MUST_USE bool page_request_read(const char *query, struct page_request *ret, struct err *err);
/* For a token that its page cannot read. */
bool page_token_invalid(struct err *err);
void page_put_token(cJSON *page, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
