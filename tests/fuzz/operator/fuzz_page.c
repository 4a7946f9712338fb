/* Any query of a request for a page: what cannot be read is an error, and a token that was read leads to a
 * page. Each page of a list ends with the token of its last item, so that the pages have every item behind
 * the first token once. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/api/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { ROWS = 64 };

/* Of the input itself, so that tokens meet them. */
static void list(const void *ctx, struct page_snapshot *ret)
{
    const char *text = ctx;
    const char *name = page_snapshot_keep(ret, text);

    for (uint64_t i = 0; i < ROWS; i++)
        page_snapshot_add(ret, &(struct page_place){{i % 2, 0, *text ? (unsigned char)*text : 1, i}, name});
}

static cJSON *print(void *ctx, const struct page_place *place)
{
    size_t *printed = ctx;

    (void)place;
    ++*printed;
    return json_object();
}

static void read_all(const struct page_snapshot *snapshot, const struct page_request *first)
{
    size_t printed = 0, before;
    AUTO(mem) char *token = NULL;

    for (size_t pages = 0;; pages++) {
        AUTO(mem) char *query = mem_printf("limit=%u&continue=%s", first->limit, token ? token : "");
        AUTO(page_request) struct page_request next = {0};
        AUTO(json) cJSON *out = json_object();
        struct err err;

        assert(pages <= ROWS);
        assert(!token || page_request_read(query, &next, &err));
        before = printed;
        page_snapshot_print(snapshot, PAGE_QUEUE, token ? &next : first, print, &printed, out);
        assert(printed - before <= first->limit);
        mem_set_str(&token, json_str(out, "continue", NULL));
        if (!token)
            break;
        assert(printed > before);
    }
    assert(first->continues ? printed <= ROWS : printed == ROWS);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    AUTO(mem) char *query = mem_strndup((const char *)bytes, len);
    AUTO(page_request) struct page_request request = {0};
    AUTO(page_snapshot) struct page_snapshot snapshot = {0};
    struct err err;

    if (!page_request_read(query, &request, &err)) {
        assert(err.kind == ERR_INVALID && *err.msg && !request.name);
        return 0;
    }
    assert(request.limit >= 1 && request.limit <= PAGE_ITEMS_MAX);
    assert(request.continues == (request.name != NULL));
    page_snapshot_refresh(&snapshot, 0, list, query);
    read_all(&snapshot, &request);
    return 0;
}
