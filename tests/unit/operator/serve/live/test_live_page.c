#include <string.h>

#include "base/core/mem.h"
#include "operator/serve/live/page_access.h"
#include "operator/serve/live/feed.h"
#include "operator/serve/live/websocket.h"
#include "lib/check.h"

/* ---- requests ---- */

TEST(a_request_head_is_read_when_it_is_whole)
{
    static const char text[] = "POST /login?x=1 HTTP/1.1\r\nhOST:  h:1\t\r\nContent-Length: 2\r\n"
                               "Cookie: a=b; ipu=c=d\r\nConnection: keep-alive, UPGRADE\r\n\r\nhi";
    size_t len = sizeof(text) - 1;
    struct request_head head;
    struct slice rest;

    for (size_t some = 0; some < len - 2; some++)
        CHECK_INT_EQ(request_head_parse((struct slice){text, some}, &head), REQUEST_HEAD_UNFINISHED);
    CHECK_INT_EQ(request_head_parse((struct slice){text, len}, &head), REQUEST_HEAD_WHOLE);
    CHECK(slice_eq(head.method, "POST") && slice_eq(head.path, "/login") && slice_eq(head.query, "x=1"));
    CHECK(slice_eq(head.host, "h:1") && head.body_len == 2 && head.len == len - 2);
    rest = head.cookie;
    CHECK(slice_eq(request_head_cookie(&rest, "ipu"), "c=d"));
    rest = head.cookie;
    CHECK_INT_EQ(request_head_cookie(&rest, "ip").len, 0);
    CHECK(request_head_has_word(head.connection, "upgrade") &&
          !request_head_has_word(head.connection, "keep"));
}

/* ---- frames ---- */

TEST(a_frame_is_read_when_it_is_whole)
{
    char bytes[] = "\x81\x82\x01\x02\x03\x04"
                   "ik"
                   "\x89\x80";
    struct websocket_frame frame;

    for (size_t some = 0; some < 8; some++)
        CHECK_INT_EQ(websocket_read(bytes, some, &frame), 0);
    CHECK_INT_EQ(websocket_read(bytes, 10, &frame), 8);
    CHECK(frame.opcode == WEBSOCKET_TEXT && slice_eq(frame.payload, "hi"));
}

TEST(heads_of_frames_have_the_shortest_length)
{
    static const struct {
        size_t len;
        const char *want;
    } rows[] = {
        {0, "8100"}, {125, "817d"}, {126, "817e007e"}, {65535, "817effff"}, {65536, "817f0000000000010000"}};

    CHECK_ROWS (row, rows) {
        unsigned char head[WEBSOCKET_HEAD_MAX];
        AUTO(str) struct str text = {0};

        str_add_hex(&text, head, websocket_head(WEBSOCKET_TEXT, row->len, head));
        CHECK_STR_EQ(str_text(&text), row->want);
    }
}

/* ---- access ---- */

static const struct asset ASSETS[] = {{"/", "text/html", NULL, 0}, {"/login", "text/html", NULL, 0}, {0}};

static struct page_access_answer asked(const char *text)
{
    static const unsigned char random[2 * ACCESS_SECRET_BYTES] = {[ACCESS_SECRET_BYTES] = 1};
    struct request_head head;
    struct page_access access;
    struct page_access_answer answer;

    page_access_init(&access, "::1", 80, ASSETS, random);
    CHECK_INT_EQ(request_head_parse(slice_of(text), &head), REQUEST_HEAD_WHOLE);
    answer = page_access_ask(&access, &head);
    page_access_release(&access);
    return answer;
}

#define SECRET "0100000000000000000000000000000000000000000000000000000000000000"
#define LIVE(origin, cookie)                                                                                 \
    "GET /live HTTP/1.1\r\nHost: [::1]:80\r\nOrigin: " origin "\r\nCookie: " cookie                          \
    "\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"                         \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

TEST(the_server_tells_pages_from_others)
{
    static const struct {
        const char *text;
        int status;
    } rows[] = {
        {"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 200},
        {"GET / HTTP/1.1\r\nHost: localhost:80\r\n\r\n", 200},
        {"GET / HTTP/1.1\r\nHost: ::1:80\r\n\r\n", 403},
        {"GET / HTTP/1.1\r\nHost: [::1]:80.example.com\r\n\r\n", 403},
        {"GET / HTTP/1.1\r\nHost: [::1]:80\r\nOrigin: https://[::1]:80\r\n\r\n", 403},
        {"PUT /login HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 405},
        {"POST /login HTTP/1.1\r\nHost: [::1]:80\r\nOrigin: http://[::1]:80\r\nContent-Length: 999\r\n\r\n",
         413},
        {"GET /live/ HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 404},
        {LIVE("http://[::1]:80", "ipu-live-80=" SECRET), 101},
        {LIVE("http://[::1]:80", "ipu-live-81=" SECRET), 401},
        {LIVE("http://[::1]:80", "ipu-live-80=" SECRET "0"), 401},
        {LIVE("http://[::1]:80", "ipu-live-80=x; ipu-live-80=" SECRET "; ipu-live-80="), 101},
        {LIVE("http://[::1]:8080", "ipu-live-80=" SECRET), 403},
    };

    CHECK_ROWS (row, rows)
        CHECK_INT_EQ(asked(row->text).status, row->status);
}

#define SERVICE_LIVE(host, origin, cookie)                                                                   \
    "GET /live HTTP/1.1\r\nHost: " host "\r\nOrigin: " origin "\r\nCookie: " cookie                          \
    "\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"                         \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

TEST(a_service_has_names_and_passes_tokens_on)
{
    static const struct {
        const char *text;
        int status;
        const char *token;
    } rows[] = {
        {"GET / HTTP/1.1\r\nHost: ipus.example.com\r\n\r\n", 303, ""},
        {"GET / HTTP/1.1\r\nHost: IPUS.example.com:8445\r\nCookie: __Host-ipu-live=a.b\r\n\r\n", 200, "a.b"},
        {"GET / HTTP/1.1\r\nHost: [::1]:8445\r\n\r\n", 303, ""},
        {"GET / HTTP/1.1\r\nHost: ipus.example.com.evil.org\r\n\r\n", 403, ""},
        {"GET / HTTP/1.1\r\nHost: evil.org:ipus.example.com\r\n\r\n", 403, ""},
        {"GET / HTTP/1.1\r\n\r\n", 403, ""},
        {"GET /login HTTP/1.1\r\nHost: localhost:1\r\n\r\n", 200, ""},
        {SERVICE_LIVE("localhost", "https://localhost", "__Host-ipu-live=a.b"), 101, "a.b"},
        {SERVICE_LIVE("localhost", "https://localhost", "ipu-live=a.b"), 401, ""},
        {SERVICE_LIVE("localhost", "https://localhost", "__Host-ipu-live=a\tb"), 401, ""},
        {SERVICE_LIVE("localhost", "http://localhost", "__Host-ipu-live=a.b"), 403, ""},
        {SERVICE_LIVE("localhost", "https://evil.org", "__Host-ipu-live=a.b"), 403, ""},
    };
    AUTO(strv) struct strv hosts = {0};
    struct page_access access;

    strv_split("ipus.example.com,localhost,[::1]", ',', &hosts);
    page_access_init_service(&access, &hosts, ASSETS);
    CHECK_ROWS (row, rows) {
        struct request_head head;
        struct page_access_answer answer;

        CHECK_INT_EQ(request_head_parse(slice_of(row->text), &head), REQUEST_HEAD_WHOLE);
        answer = page_access_ask(&access, &head);
        CHECK_INT_EQ(answer.status, row->status);
        CHECK(slice_eq(answer.token, row->token));
    }
    page_access_release(&access);
}

TEST(a_token_that_no_browser_keeps_is_rejected_as_such)
{
    static const struct {
        size_t len;
        int status;
        const char *why;
    } rows[] = {{4000, 204, NULL},
                {4001, 413, "this token is longer than the 4,000 bytes that browsers keep in a cookie"}};
    AUTO(strv) struct strv hosts = {0};
    struct page_access access;

    strv_push(&hosts, "localhost");
    page_access_init_service(&access, &hosts, ASSETS);
    CHECK_ROWS (row, rows) {
        AUTO(mem)
        char *text = mem_printf("POST /login HTTP/1.1\r\nHost: localhost\r\nOrigin: "
                                "https://localhost\r\nContent-Length: %zu\r\n\r\n",
                                row->len);
        struct request_head head;
        struct page_access_answer answer;

        CHECK_INT_EQ(request_head_parse(slice_of(text), &head), REQUEST_HEAD_WHOLE);
        answer = page_access_ask(&access, &head);
        CHECK_INT_EQ(answer.status, row->status);
        CHECK(str_eq(answer.why, row->why));
    }
    page_access_release(&access);
}

TEST(a_token_that_is_no_good_leads_to_the_login)
{
    CHECK_INT_EQ(page_access_reject(ACCESS_ASSET, 401, "no").status, 303);
    CHECK_INT_EQ(page_access_reject(ACCESS_ASSET, 503, "no").status, 503);
    CHECK_INT_EQ(page_access_reject(ACCESS_LIVE, 401, "no").status, 401);
}

/* ---- the feed ---- */

TEST(only_events_of_jobs_and_their_pods_are_shown)
{
    static const struct {
        const char *kind, *name;
        bool want;
    } rows[] = {{"IPUJob", "digits", true},
                {"Pod", "digits-worker-0", true},
                {"Pod", "digits-launcher", true},
                {"Pod", "web-0", false},
                {"Node", "a-worker-0", false}};

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *event = json_object();
        cJSON *of = json_put_object(event, "regarding");

        json_put_str(of, "kind", row->kind);
        json_put_str(of, "name", row->name);
        CHECK_INT_EQ(feed_shows(FEED_EVENT, event), row->want);
    }
}

TEST(what_users_may_make_large_is_not_sent)
{
    static const char metadata[] =
        "{\"metadata\":{\"name\":\"a\",\"deletionTimestamp\":\"2026-11-27T05:00:00Z\","
        "\"labels\":{\"hidden\":\"1\",\"graphcore.ai/worker\":\"3\"},\"annotations\":{\"hidden\":\"2\"},"
        "\"ownerReferences\":[{\"name\":\"hidden\"}],\"finalizers\":[\"hidden\"]},"
        "\"spec\":{\"workers\":{\"template\":{\"metadata\":{\"labels\":{\"hidden\":\"3\"}}}}}}";
    struct err err = {0};
    AUTO(json) cJSON *object = json_parse(slice_of(metadata), &err);
    AUTO(mem) char *job = feed_put(FEED_JOB, object), *pod = feed_put(FEED_POD, object);

    CHECK(!strstr(job, "hidden") && !strstr(pod, "hidden"));
    CHECK(strstr(job, "deletionTimestamp") && strstr(pod, "deletionTimestamp"));
    CHECK(strstr(pod, "\"graphcore.ai/worker\":\"3\""));
}

TEST(requests_of_the_page_name_a_job_or_none)
{
    AUTO(mem) char *job = feed_read_request(slice_of("{\"type\":\"logs\",\"job\":\"ml/digits\"}"));
    AUTO(mem) char *none = feed_read_request(slice_of("{\"type\":\"logs\",\"job\":null}"));

    CHECK_STR_EQ(job, "ml/digits");
    CHECK_STR_EQ(none, "");
    CHECK(!feed_read_request(slice_of("{\"type\":\"logs\"}")));
    CHECK(!feed_read_request(slice_of("{\"type\":\"put\",\"job\":null}")));
    CHECK(!feed_read_request(slice_of("\xff")));
}
