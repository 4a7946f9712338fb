#include "operator/kube/watch/watch_step.h"

#include "lib/check.h"

struct world {
    struct watch_state state;
    struct watch_output out;
    int64_t now_ms;
};

static void world_init(struct world *w)
{
    *w = (struct world){.now_ms = 1000};
    watch_state_init(&w->state, "Pod");
}

static void world_release(struct world *w)
{
    watch_state_release(&w->state);
}

static void feed(struct world *w, struct watch_input input)
{
    if (input.retry_after_ms == 0)
        input.retry_after_ms = -1;
    input.now_ms = w->now_ms;
    watch_step(&w->state, &input, &w->out);
}

static void sends(struct world *w)
{
    feed(w, (struct watch_input){.what = WATCH_INPUT_SEND});
}

static void event(struct world *w, const char *text)
{
    struct err err = {0};
    AUTO(json) cJSON *object = json_parse(slice_of(text), &err);

    CHECK(object != NULL);
    feed(w, (struct watch_input){.what = WATCH_INPUT_EVENT, .object = object});
    w->out.item = NULL;
}

static void page(struct world *w, const char *text)
{
    struct err err = {0};
    AUTO(json) cJSON *object = json_parse(slice_of(text), &err);

    CHECK(object != NULL);
    feed(w, (struct watch_input){.what = WATCH_INPUT_PAGE, .object = object});
}

static void closed(struct world *w, enum err_kind kind, int code, int64_t retry_after_ms)
{
    struct err err = {.kind = kind, .code = code, .msg = "as the test says"};

    feed(w, (struct watch_input){.what = WATCH_INPUT_CLOSED, .err = &err, .retry_after_ms = retry_after_ms});
}

static void check_query(struct world *w, const char *want)
{
    AUTO(strv) struct strv query = {0};
    AUTO(str) struct str got = {0};

    watch_query(&w->state, "a=b", NULL, 0, &query);
    for (size_t i = 0; i < query.count; i += 2)
        str_addf(&got, "%s=%s&", query.items[i], query.items[i + 1]);
    CHECK_STR_EQ(str_text(&got), want);
}

#define ADDED(version)                                                                                       \
    "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"" version "\"}}}"
#define BOOKMARK(version)                                                                                    \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"" version "\"}" \
    "}}"
#define LIST_END(version)                                                                                    \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"" version "\"," \
    "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}"
#define ERROR_EVENT(code)                                                                                    \
    "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":" code ",\"message\":\"m\"}}"
#define PAGE(version, more)                                                                                  \
    "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version "\",\"continue\":\"" more           \
    "\"},\"items\":[]}"

#define STREAM_QUERY "labelSelector=a=b&watch=true&allowWatchBookmarks=true&"

static void follows(struct world *w)
{
    sends(w);
    CHECK_INT_EQ(w->out.effect, WATCH_EFFECT_LIST_BEGIN);
    event(w, LIST_END("10"));
    CHECK_INT_EQ(w->out.effect, WATCH_EFFECT_LIST_END);
}

static void pages(struct world *w)
{
    sends(w);
    closed(w, ERR_INVALID, 422, -1);
    CHECK_INT_EQ(w->out.wait_ms, 0);
    sends(w);
    CHECK_INT_EQ(w->out.effect, WATCH_EFFECT_LIST_BEGIN);
}

TEST_F(world, w, a_streamed_list_becomes_a_watch)
{
    sends(w);
    check_query(w,
                STREAM_QUERY "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=300&");
    event(w, ADDED("7"));
    CHECK_INT_EQ(w->out.effect, WATCH_EFFECT_PUT);
    CHECK_STR_EQ(w->state.position, NULL); /* an unfinished list is no position */
    CHECK(!w->state.is_listed);
    event(w, LIST_END("10"));
    CHECK_INT_EQ(w->out.effect, WATCH_EFFECT_LIST_END);
    CHECK(!w->out.finish);
    CHECK(w->state.is_listed);
    CHECK_STR_EQ(w->state.position, "10");
    check_query(w, STREAM_QUERY "resourceVersion=10&timeoutSeconds=300&");
}

TEST_F(world, w, events_move_the_position)
{
    follows(w);
    event(w, ADDED("11"));
    CHECK_INT_EQ(w->out.effect, WATCH_EFFECT_PUT);
    CHECK_STR_EQ(w->state.position, "11");
    event(w, BOOKMARK("30"));
    CHECK_INT_EQ(w->out.effect, WATCH_EFFECT_NONE);
    CHECK_STR_EQ(w->state.position, "30");
    event(w,
          "{\"type\":\"DELETED\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"31\"}}}");
    CHECK_INT_EQ(w->out.effect, WATCH_EFFECT_DELETE);
    CHECK_STR_EQ(w->state.position, "31");
}

TEST_F(world, w, unexpected_events_are_skipped)
{
    static const char *const rows[] = {
        "{}",
        "[1]",
        "{\"type\":\"ADDED\"}",
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Node\",\"metadata\":{\"resourceVersion\":\"99\"}}}",
        "{\"type\":\"RENAMED\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"99\"}}}",
        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\"}}",
    };

    follows(w);
    CHECK_ROWS (row, rows) {
        event(w, *row);
        CHECK_INT_EQ(w->out.effect, WATCH_EFFECT_SKIP);
        CHECK(!w->out.finish);
        CHECK_STR_EQ(w->state.position, "10");
    }
}

TEST_F(world, w, the_normal_end_of_a_watch_is_no_trouble)
{
    follows(w);
    w->now_ms += 300000;
    closed(w, ERR_NONE, 0, -1);
    CHECK_INT_EQ(w->out.wait_ms, 0);
    CHECK_INT_EQ(w->state.phase, WATCH_FOLLOW);
    CHECK_INT_EQ(w->state.trouble.kind, ERR_NONE);
    sends(w);
    CHECK_INT_EQ(w->out.effect, WATCH_EFFECT_NONE); /* no list */
}

TEST_F(world, w, a_watch_that_ends_at_once_is_asked_with_growing_patience)
{
    int64_t last_ms = 0;

    follows(w);
    for (int i = 0; i < 5; i++) {
        sends(w);
        w->now_ms += 10;
        closed(w, ERR_NONE, 0, -1);
        CHECK(w->out.wait_ms > last_ms);
        last_ms = w->out.wait_ms;
    }
    CHECK_STR_EQ(w->state.position, "10");
    sends(w);
    event(w, ADDED("11"));
    closed(w, ERR_NONE, 0, -1); /* cut in the middle, with something to show: go on at once */
    CHECK_INT_EQ(w->out.wait_ms, 0);
}

TEST(trouble_keeps_the_position)
{
    static const struct {
        enum err_kind kind;
        int code;
        int64_t retry_after_ms, at_least_ms;
    } rows[] = {
        {ERR_IO, 56, -1, 100},         {ERR_TIMEOUT, 28, -1, 100},  {ERR_BUSY, 429, 7000, 7000},
        {ERR_BUSY, 503, -1, 100},      {ERR_DENIED, 403, -1, 1000}, {ERR_IO, 500, -1, 100},
        {ERR_NOT_FOUND, 404, -1, 500},
    };

    CHECK_ROWS (row, rows) {
        struct world w;

        world_init(&w);
        follows(&w);
        closed(&w, row->kind, row->code, row->retry_after_ms);
        CHECK(w.out.wait_ms >= row->at_least_ms);
        CHECK_INT_EQ(w.state.phase, WATCH_FOLLOW);
        CHECK_STR_EQ(w.state.position, "10");
        CHECK_INT_EQ(w.state.trouble.kind, row->kind);
        sends(&w);
        event(&w, ADDED("11"));
        CHECK_INT_EQ(w.state.trouble.kind, ERR_NONE);
        watch_state_release(&w.state);
    }
}

TEST_F(world, w, an_expired_position_is_listed_again)
{
    follows(w);
    closed(w, ERR_GONE, 410, -1);
    CHECK_INT_EQ(w->out.wait_ms, 0);
    CHECK_INT_EQ(w->state.phase, WATCH_STREAM_LIST);
    CHECK_STR_EQ(w->state.position, NULL);
    CHECK_INT_EQ(w->state.expirations, 1);
    sends(w);
    CHECK_INT_EQ(w->out.effect, WATCH_EFFECT_LIST_BEGIN);
    event(w, LIST_END("50"));
    closed(w, ERR_GONE, 410, -1); /* again, before any event: not without end */
    CHECK(w->out.wait_ms > 0);
}

TEST_F(world, w, an_expired_position_in_an_error_event_is_listed_again)
{
    follows(w);
    event(w, ERROR_EVENT("410"));
    CHECK(w->out.finish);
    CHECK_INT_EQ(w->out.wait_ms, 0);
    CHECK_STR_EQ(w->state.position, NULL);
}

TEST_F(world, w, an_error_event_says_when_to_retry)
{
    follows(w);
    event(w, "{\"type\":\"ERROR\",\"object\":{\"code\":429,\"details\":{\"retryAfterSeconds\":9}}}");
    CHECK(w->out.finish);
    CHECK_INT_EQ(w->out.wait_ms, 9000);
    CHECK_STR_EQ(w->state.position, "10");
}

TEST_F(world, w, an_error_event_without_a_status_is_retried)
{
    follows(w);
    event(w, "{\"type\":\"ERROR\"}");
    CHECK(w->out.finish);
    CHECK(w->out.wait_ms > 0);
    CHECK_STR_EQ(w->state.position, "10");
}

TEST_F(world, w, a_position_from_the_future_is_given_up)
{
    follows(w);
    event(w, "{\"type\":\"ERROR\",\"object\":{\"code\":504,\"message\":\"Timeout: Too large resource "
             "version: 9\"}}");
    CHECK_STR_EQ(w->state.position, NULL);
    CHECK_INT_EQ(w->state.phase, WATCH_STREAM_LIST);
}

TEST_F(world, w, a_401_renews_the_credentials_once)
{
    follows(w);
    closed(w, ERR_DENIED, 401, -1);
    CHECK(w->out.renew);
    CHECK_INT_EQ(w->out.wait_ms, 0);
    closed(w, ERR_DENIED, 401, -1);
    CHECK(!w->out.renew);
    CHECK(w->out.wait_ms >= 1000);
    sends(w);
    event(w, ADDED("11"));
    closed(w, ERR_DENIED, 401, -1);
    CHECK(w->out.renew);
}

TEST_F(world, w, a_rejected_stream_falls_back_to_pages)
{
    pages(w);
    CHECK_INT_EQ(w->state.trouble.kind, ERR_NONE);
    check_query(w, "labelSelector=a=b&limit=500&");
    page(w, PAGE("20", "t1"));
    CHECK_INT_EQ(w->out.wait_ms, 0);
    CHECK(!w->state.is_listed);
    sends(w);
    CHECK_INT_EQ(w->out.effect, WATCH_EFFECT_NONE);
    check_query(w, "labelSelector=a=b&limit=500&continue=t1&");
    page(w, PAGE("21", ""));
    CHECK_INT_EQ(w->out.effect, WATCH_EFFECT_LIST_END);
    CHECK_INT_EQ(w->out.wait_ms, 0);
    CHECK_STR_EQ(w->state.position, "20"); /* of the first page: nothing is missed */
    CHECK_INT_EQ(w->state.phase, WATCH_FOLLOW);
    closed(w, ERR_GONE, 410, -1);
    CHECK_INT_EQ(w->state.phase, WATCH_PAGES);      /* it stays rejected */
    check_query(w, "labelSelector=a=b&limit=500&"); /* the most recent, not any */
}

TEST_F(world, w, an_expired_page_restarts_the_list_in_one_piece)
{
    pages(w);
    page(w, PAGE("20", "t1"));
    sends(w);
    closed(w, ERR_GONE, 410, -1);
    CHECK_INT_EQ(w->out.wait_ms, 0);
    check_query(w, "labelSelector=a=b&");
    sends(w);
    CHECK_INT_EQ(w->out.effect, WATCH_EFFECT_LIST_BEGIN);
    page(w, PAGE("30", ""));
    CHECK_STR_EQ(w->state.position, "30");
}

TEST_F(world, w, a_broken_page_is_asked_again)
{
    pages(w);
    page(w, PAGE("20", "t1"));
    sends(w);
    closed(w, ERR_IO, 56, -1);
    CHECK(w->out.wait_ms > 0);
    check_query(w, "labelSelector=a=b&limit=250&continue=t1&");
}

static void sized_page(struct world *w, size_t items, size_t bytes)
{
    struct err err = {0};
    AUTO(json) cJSON *object = json_parse(slice_of(PAGE("20", "t")), &err);

    sends(w);
    feed(w, (struct watch_input){.what = WATCH_INPUT_PAGE, .object = object, .items = items, .bytes = bytes});
}

/* One namespace with large jobs must not hold up the list of all. */
TEST_F(world, w, pages_of_large_objects_have_fewer_of_them)
{
    pages(w);
    sized_page(w, 500, 500 << 10); /* 1 KiB each */
    CHECK_INT_EQ(w->state.page_limit, 500);
    sized_page(w, 500, (size_t)500 << 19); /* 512 KiB each */
    CHECK_INT_EQ(w->state.page_limit, 16);
    check_query(w, "labelSelector=a=b&limit=16&continue=t&");
    sized_page(w, 16, (size_t)48 << 20); /* 3 MiB each */
    CHECK_INT_EQ(w->state.page_limit, WATCH_PAGE_LEAST);
    sized_page(w, 5, 5 << 10);
    CHECK_INT_EQ(w->state.page_limit, 500);
}

TEST_F(world, w, pages_that_fail_have_fewer_objects_each_time)
{
    pages(w);
    closed(w, ERR_TIMEOUT, 28, -1);
    CHECK_INT_EQ(w->state.page_limit, 250);
    feed(w, (struct watch_input){.what = WATCH_INPUT_IDLE});
    CHECK_INT_EQ(w->state.page_limit, 125);
    for (int i = 0; i < 9; i++)
        closed(w, ERR_IO, 56, -1);
    CHECK_INT_EQ(w->state.page_limit, WATCH_PAGE_LEAST);
}

TEST(pages_that_are_no_lists_complete_nothing)
{
    static const char *const rows[] = {
        "{\"kind\":\"PodList\",\"metadata\":{}}",
        "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"1\"}}",
        "{\"kind\":\"PodTemplateList\",\"metadata\":{\"resourceVersion\":\"1\"}}",
        "{}",
    };

    CHECK_ROWS (row, rows) {
        struct world w;

        world_init(&w);
        pages(&w);
        page(&w, *row);
        CHECK_INT_EQ(w.out.effect, WATCH_EFFECT_NONE);
        CHECK(w.out.wait_ms > 0);
        CHECK(!w.state.is_listed);
        CHECK_INT_EQ(w.state.trouble.kind, ERR_INVALID);
        watch_state_release(&w.state);
    }
}

TEST_F(world, w, a_streamed_list_without_an_end_becomes_pages_for_once)
{
    sends(w);
    event(w, ADDED("7"));
    feed(w, (struct watch_input){.what = WATCH_INPUT_IDLE});
    CHECK_INT_EQ(w->state.phase, WATCH_PAGES);
    CHECK_INT_EQ(w->state.trouble.kind, ERR_TIMEOUT);
    sends(w);
    page(w, PAGE("20", ""));
    CHECK_INT_EQ(w->state.trouble.kind, ERR_NONE);
    closed(w, ERR_GONE, 410, -1);
    CHECK_INT_EQ(w->state.phase, WATCH_STREAM_LIST);
}

TEST_F(world, w, a_streamed_list_that_keeps_breaking_becomes_pages)
{
    for (int i = 0; i < 3; i++) {
        CHECK_INT_EQ(w->state.phase, WATCH_STREAM_LIST);
        sends(w);
        event(w, ADDED("7"));
        closed(w, ERR_NONE, 0, -1);
        CHECK(w->out.wait_ms > 0);
    }
    CHECK_INT_EQ(w->state.phase, WATCH_PAGES);
}

static void falls_silent(struct world *w)
{
    feed(w, (struct watch_input){.what = WATCH_INPUT_IDLE});
    CHECK(w->out.wait_ms >= 0);
    CHECK_STR_EQ(w->state.position, "10");
    CHECK_INT_EQ(w->state.phase, WATCH_FOLLOW);
}

TEST_F(world, w, a_silent_watch_goes_on_from_its_position)
{
    follows(w);
    event(w, BOOKMARK("10"));
    falls_silent(w);
    CHECK_INT_EQ(w->state.trouble.kind, ERR_TIMEOUT);
}

static void settles(struct world *w)
{
    feed(w, (struct watch_input){.what = WATCH_INPUT_SETTLED});
    CHECK_INT_EQ(w->out.wait_ms, -1);
}

TEST_F(world, w, a_watch_that_is_answered_again_is_well_without_a_word)
{
    follows(w);
    closed(w, ERR_IO, 0, -1);
    sends(w);
    CHECK_INT_EQ(w->state.trouble.kind, ERR_IO);
    settles(w);
    CHECK_INT_EQ(w->state.trouble.kind, ERR_NONE);
    CHECK_INT_EQ(w->state.failures, 0);
}

TEST_F(world, w, an_answer_is_no_proof_after_a_silence)
{
    follows(w);
    event(w, BOOKMARK("10"));
    falls_silent(w);
    sends(w);
    settles(w);
    CHECK_INT_EQ(w->state.trouble.kind, ERR_TIMEOUT);
    event(w, BOOKMARK("11"));
    CHECK_INT_EQ(w->state.trouble.kind, ERR_NONE);
    closed(w, ERR_IO, 0, -1);
    sends(w);
    settles(w);
    CHECK_INT_EQ(w->state.trouble.kind, ERR_NONE);
}

TEST_F(world, w, a_list_is_not_well_before_its_end)
{
    sends(w);
    closed(w, ERR_IO, 0, -1);
    sends(w);
    settles(w);
    CHECK_INT_EQ(w->state.trouble.kind, ERR_IO);
}

/* A server has no bookmarks of a kind that has not changed since it started: nothing is lost. */
TEST_F(world, w, a_watch_without_bookmarks_becomes_short_and_is_no_trouble)
{
    follows(w);
    falls_silent(w);
    CHECK_INT_EQ(w->out.wait_ms, 0);
    CHECK_INT_EQ(w->state.trouble.kind, ERR_NONE);
    sends(w);
    check_query(w, STREAM_QUERY "resourceVersion=10&timeoutSeconds=50&");
    closed(w, ERR_NONE, 0, -1);
    sends(w);
    check_query(w, STREAM_QUERY "resourceVersion=10&timeoutSeconds=50&");
    falls_silent(w);
    CHECK_INT_EQ(w->state.trouble.kind, ERR_TIMEOUT);
}

TEST_F(world, w, a_watch_is_long_while_the_last_one_heard_bookmarks_to_its_end)
{
    follows(w);
    event(w, BOOKMARK("11"));
    closed(w, ERR_NONE, 0, -1);
    sends(w);
    check_query(w, STREAM_QUERY "resourceVersion=11&timeoutSeconds=300&");
    event(w, BOOKMARK("12"));
    closed(w, ERR_IO, 0, -1);
    sends(w);
    check_query(w, STREAM_QUERY "resourceVersion=12&timeoutSeconds=50&");
}

TEST_F(world, w, a_position_that_the_server_rejects_is_given_up)
{
    follows(w);
    closed(w, ERR_INVALID, 400, -1);
    CHECK_STR_EQ(w->state.position, NULL);
}

static void check_spread(struct world *w, int64_t least_s, int64_t most_s)
{
    bool seen[2] = {false, false};

    for (uint32_t random = 0; random < 1000; random++) {
        AUTO(strv) struct strv query = {0};
        int64_t seconds = 0;

        watch_query(&w->state, NULL, NULL, random, &query);
        CHECK(parse_i64(query.items[query.count - 1], least_s, most_s, &seconds));
        seen[0] = seen[0] || seconds == least_s;
        seen[1] = seen[1] || seconds == most_s;
        CHECK(watch_timeout_ms(&w->state) > seconds * 1000);
    }
    CHECK(seen[0] && seen[1]);
}

TEST_F(world, w, reconnections_are_spread)
{
    follows(w);
    check_spread(w, 300, 600);
    closed(w, ERR_NONE, 0, -1);
    sends(w);
    check_spread(w, 50, 70);
}
