#include "operator/api/page.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

TEST(a_page_is_asked_for_with_the_words_of_kubernetes)
{
    static const struct {
        const char *query;
        uint32_t limit;
        const char *after;
    } rows[] = {
        {"", PAGE_ITEMS_MAX, NULL},
        {"limit=1", 1, NULL},
        {"limit=500", 500, NULL},
        {"limit=501", PAGE_ITEMS_MAX, NULL},
        {"limit=4294967295&continue=a_1", PAGE_ITEMS_MAX, "a_1"},
        {"from=standby&continue=x&limit=7&other", 7, "x"},
        {"continue=", PAGE_ITEMS_MAX, NULL},
        {"unlimit=3", PAGE_ITEMS_MAX, NULL},
    };

    CHECK_ROWS (row, rows) {
        AUTO(page_request) struct page_request page = {0};
        struct err err;

        CHECK_OK(page_request_read(row->query, &page, &err), err);
        CHECK_INT_EQ(page.limit, row->limit);
        CHECK_STR_EQ(page.after, row->after);
    }
}

TEST(a_limit_is_a_number)
{
    static const char *const queries[] = {"limit=",  "limit=0",          "limit=-1",
                                          "limit=x", "limit=4294967296", "limit=1&limit=2x"};

    CHECK_ROWS (query, queries) {
        struct page_request page = {0};
        struct err err;

        CHECK_ERR(page_request_read(*query, &page, &err), err, ERR_INVALID);
        CHECK_HAS(err.msg, "limit must be a number");
        CHECK(page.after == NULL);
    }
}
