#include "operator/api/page.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

TEST(a_page_is_requested_with_the_words_of_kubernetes)
{
    static const struct {
        const char *query;
        uint32_t limit;
        const char *name;
    } rows[] = {
        {"", PAGE_ITEMS_MAX, NULL},
        {"limit=1", 1, NULL},
        {"limit=500", 500, NULL},
        {"limit=501", PAGE_ITEMS_MAX, NULL},
        {"limit=4294967295&continue=0.0.0.0.61", PAGE_ITEMS_MAX, "a"},
        {"from=standby&continue=ffffffffffffffff.0.0.1.&limit=7&other", 7, ""},
        {"continue=", PAGE_ITEMS_MAX, NULL},
        {"unlimit=3", PAGE_ITEMS_MAX, NULL},
    };

    CHECK_ROWS (row, rows) {
        AUTO(page_request) struct page_request request = {0};
        struct err err;

        CHECK_OK(page_request_read(row->query, &request, &err), err);
        CHECK_INT_EQ(request.limit, row->limit);
        CHECK_INT_EQ(request.continues, row->name != NULL);
        CHECK_STR_EQ(request.name, row->name);
    }
}

TEST(an_invalid_request_for_a_page_says_what_is_wrong)
{
    static const struct {
        const char *query, *says;
    } rows[] = {
        {"limit=", "limit must be a number from 1 to 4294967295, got ''"},
        {"limit=0", "limit must be a number"},
        {"limit=-1", "limit must be a number"},
        {"limit=4294967296", "limit must be a number"},
        {"limit=1&limit=2x", "got '2x'"},
        {"continue=x", "continue is not a token of a page; start again without it"},
        {"continue=1", "continue is not a token"},
        {"continue=1.2.3.4", "continue is not a token"},
        {"continue=1.2.3.4.5", "continue is not a token"},
        {"continue=1.2.3.4.00", "continue is not a token"},
        {"continue=1.2.3.4.6X", "continue is not a token"},
        {"continue=1..3.4.61", "continue is not a token"},
        {"continue=11111111111111111.2.3.4.61", "continue is not a token"},
    };

    CHECK_ROWS (row, rows) {
        struct page_request request = {0};
        struct err err;

        CHECK_ERR(page_request_read(row->query, &request, &err), err, ERR_INVALID);
        CHECK_HAS(err.msg, row->says);
        CHECK(request.name == NULL);
    }
}

struct items {
    uint32_t first, count; /* the numbers of its instances */
    uint32_t gone;         /* one that has left since the snapshot */
    unsigned listings;
};

static void list_items(const void *ctx, struct page_snapshot *ret)
{
    struct items *items = (struct items *)(uintptr_t)ctx;
    const char *name = page_snapshot_keep(ret, "job");

    items->listings++;
    for (uint32_t i = items->count; i > 0; i--) /* in any order */
        page_snapshot_add(ret, &(struct page_place){{1, 0, 0, items->first + i - 1}, name});
}

static cJSON *print_item(void *ctx, const struct page_place *place)
{
    const struct items *items = ctx;

    CHECK_STR_EQ(place->name, "job");
    return place->ranks[3] == items->gone ? NULL : cJSON_CreateNumber((double)place->ranks[3]);
}

static cJSON *page_after(struct page_snapshot *snapshot, struct items *items, uint32_t limit,
                         const char *token)
{
    AUTO(mem) char *query = mem_printf("limit=%u&continue=%s", limit, token ? token : "");
    AUTO(page_request) struct page_request request = {0};
    struct err err;
    cJSON *out = json_object();

    CHECK_OK(page_request_read(query, &request, &err), err);
    page_snapshot_print(snapshot, PAGE_QUEUE, &request, print_item, items, out);
    return out;
}

TEST(pages_have_every_item_once_and_in_order)
{
    AUTO(page_snapshot) struct page_snapshot snapshot = {0};
    struct items items = {.first = 1, .count = 25};
    AUTO(mem) char *token = NULL;
    int64_t last = 0;
    unsigned pages = 0;

    page_snapshot_refresh(&snapshot, 0, list_items, &items);
    do {
        AUTO(json) cJSON *page = page_after(&snapshot, &items, 7, token);

        JSON_EACH (item, json_at(page, "queue"))
            CHECK_INT_EQ(item->valuedouble, ++last);
        mem_set_str(&token, json_str(page, "continue", NULL));
        pages++;
    } while (token);
    CHECK_INT_EQ(last, 25);
    CHECK_INT_EQ(pages, 4);
}

/* The item that the token names may have left meanwhile. */
TEST(a_list_that_has_changed_goes_on_behind_the_last_item)
{
    AUTO(page_snapshot) struct page_snapshot before = {0}, after = {0};
    struct items items = {.first = 0, .count = 6, .gone = UINT32_MAX};

    page_snapshot_refresh(&before, 0, list_items, &items);
    AUTO(json) cJSON *first = page_after(&before, &items, 2, NULL);
    items = (struct items){.first = 2, .count = 4, .gone = UINT32_MAX};
    page_snapshot_refresh(&after, 0, list_items, &items);
    AUTO(json) cJSON *second = page_after(&after, &items, 10, json_str(first, "continue", NULL));

    CHECK_INT_EQ(cJSON_GetArraySize(json_at(second, "queue")), 4);
    CHECK_INT_EQ(json_at(second, "queue")->child->valuedouble, 2);
    CHECK(json_at(second, "continue") == NULL);
}

TEST(an_item_that_has_left_since_the_snapshot_is_not_shown)
{
    AUTO(page_snapshot) struct page_snapshot snapshot = {0};
    struct items items = {.first = 1, .count = 3, .gone = 2};

    page_snapshot_refresh(&snapshot, 0, list_items, &items);
    AUTO(json) cJSON *page = page_after(&snapshot, &items, 2, NULL);

    CHECK_INT_EQ(cJSON_GetArraySize(json_at(page, "queue")), 1);
    AUTO(json) cJSON *next = page_after(&snapshot, &items, 2, json_str(page, "continue", NULL));

    CHECK_INT_EQ(json_at(next, "queue")->child->valuedouble, 3);
}

/* Of 7 places that no snapshot has, the next one. */
static bool next_place(void *ctx, const struct page_place *after, struct page_place *ret)
{
    uint64_t at = after ? after->ranks[3] + 1 : 1;

    (void)ctx;
    *ret = (struct page_place){{0, 0, 0, at}, "job"};
    return (!after || after->ranks[0] == 0) && at <= 7;
}

TEST(what_is_found_place_by_place_precedes_the_snapshot)
{
    AUTO(page_snapshot) struct page_snapshot snapshot = {0};
    struct items items = {.first = 8, .count = 5};

    page_snapshot_refresh(&snapshot, 0, list_items, &items);
    snapshot.next = next_place;
    for (uint32_t limit = 1; limit <= 13; limit++) {
        AUTO(mem) char *token = NULL;
        int64_t last = 0;

        do {
            AUTO(json) cJSON *page = page_after(&snapshot, &items, limit, token);

            JSON_EACH (item, json_at(page, "queue"))
                CHECK_INT_EQ(item->valuedouble, ++last);
            mem_set_str(&token, json_str(page, "continue", NULL));
            CHECK_INT_EQ(token != NULL, last < 12);
        } while (token);
        CHECK_INT_EQ(last, 12);
    }
}

TEST(an_empty_list_has_one_page)
{
    AUTO(page_snapshot) struct page_snapshot snapshot = {0};
    struct items items = {0};

    page_snapshot_refresh(&snapshot, 0, list_items, &items);
    AUTO(json) cJSON *page = page_after(&snapshot, &items, 5, NULL);

    CHECK(json_at(page, "queue") != NULL && json_at(page, "queue")->child == NULL);
    CHECK(json_at(page, "continue") == NULL);
}

TEST(readers_of_a_long_list_share_one_snapshot)
{
    AUTO(page_snapshot) struct page_snapshot snapshot = {0};
    struct items items = {.count = 10000};

    for (int64_t now_ms = 5000; now_ms < 6000; now_ms++)
        page_snapshot_refresh(&snapshot, now_ms, list_items, &items);
    CHECK_INT_EQ(items.listings, 1);
    page_snapshot_refresh(&snapshot, 6000, list_items, &items);
    CHECK_INT_EQ(items.listings, 2);
}

TEST(a_short_list_is_always_recent)
{
    AUTO(page_snapshot) struct page_snapshot snapshot = {0};
    struct items items = {.count = 9};

    page_snapshot_refresh(&snapshot, 5000, list_items, &items);
    page_snapshot_refresh(&snapshot, 5000, list_items, &items);
    CHECK_INT_EQ(items.listings, 2);
}
