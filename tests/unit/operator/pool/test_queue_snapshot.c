#include "operator/pool/queue_snapshot.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

static void add(struct queue_snapshot *snapshot, const char *job, uint64_t arrival, uint32_t instance)
{
    const struct claim claim = {.job = job,
                                .uid = job,
                                .instance = instance,
                                .priority = arrival == 1 ? 7 : -7,
                                .created_s = 1790000000,
                                .arrival = arrival,
                                .size = 4,
                                .is_ready = true};
    char text[] = "Waiting for 4 IPUs", controller[] = "vipu:8090";
    const struct claim_wait wait = {.reason = "Queued",
                                    .text = text,
                                    .controller = controller,
                                    .position = (uint32_t)snapshot->count + 1};

    queue_snapshot_add(snapshot, &claim, NULL, &wait);
}

static cJSON *page_after(const struct queue_snapshot *snapshot, uint32_t limit, const char *token)
{
    AUTO(page_request) struct page_request page = {.limit = limit, .after = mem_strdup(token)};
    struct err err = {0};
    cJSON *out = queue_snapshot_print(snapshot, &page, &err);

    CHECK_OK(out != NULL, err);
    return out;
}

static int64_t count_of(const cJSON *page)
{
    return cJSON_GetArraySize(json_at(page, "queue"));
}

TEST(pages_have_every_row_once_and_in_order)
{
    struct queue_snapshot snapshot = {0};
    AUTO(mem) char *token = NULL;
    int64_t position = 0;

    for (uint32_t i = 0; i < 25; i++)
        add(&snapshot, i < 10 ? "a/first" : "b/second", i < 10 ? 1 : 2, i < 10 ? i : i - 10);
    do {
        AUTO(json) cJSON *page = page_after(&snapshot, 7, token);

        JSON_EACH (row, json_at(page, "queue")) {
            CHECK_INT_EQ(json_i64(row, "position", 0), ++position);
            CHECK_STR_EQ(json_str(row, "job", ""), position <= 10 ? "a/first" : "b/second");
        }
        mem_set_str(&token, json_str(page, "continue", NULL));
    } while (token);
    CHECK_INT_EQ(position, 25);
    queue_snapshot_release(&snapshot);
}

/* The one that the token names may have got its IPUs meanwhile. */
TEST(a_queue_that_has_changed_goes_on_behind_the_last_row)
{
    struct queue_snapshot before = {0}, after = {0};
    AUTO(json) cJSON *first = NULL, *second = NULL;

    for (uint32_t i = 0; i < 6; i++)
        add(&before, "a/job", 1, i);
    for (uint32_t i = 2; i < 6; i++) /* 0 and 1 are gone */
        add(&after, "a/job", 1, i);
    first = page_after(&before, 2, NULL);
    second = page_after(&after, 10, json_str(first, "continue", NULL));
    CHECK_INT_EQ(count_of(second), 4);
    CHECK_INT_EQ(json_i64(json_at(second, "queue")->child, "instance", -1), 2);
    CHECK(json_at(second, "continue") == NULL);
    queue_snapshot_release(&before);
    queue_snapshot_release(&after);
}

TEST(an_empty_queue_has_one_page)
{
    struct queue_snapshot none = {0};
    AUTO(json) cJSON *page = page_after(&none, 5, NULL);

    CHECK_INT_EQ(count_of(page), 0);
    CHECK(json_at(page, "continue") == NULL);
}

TEST(a_token_of_something_else_is_rejected)
{
    static const char *const tokens[] = {"x", "1", "1_2_3", "1_2_3_4x", "1_2_3_x", "0_70"};
    struct queue_snapshot snapshot = {0};

    add(&snapshot, "a/job", 1, 0);
    CHECK_ROWS (token, tokens) {
        AUTO(page_request) struct page_request page = {.limit = 5, .after = mem_strdup(*token)};
        struct err err;

        CHECK_ERR(queue_snapshot_print(&snapshot, &page, &err) != NULL, err, ERR_INVALID);
    }
    queue_snapshot_release(&snapshot);
}
