#include <string.h>

#include "base/core/mem.h"
#include "base/http/http_server.h"
#include "lib/check.h"
#include "unit/base/http/exchange.h"
#include "unit/base/http/peer.h"

enum { BODY_BYTES = 100 * 1000 };

static struct http_server_request *held; /* by the handler of /later */

static void on_length(void *ctx, struct http_server_request *request,
                      const struct http_server_request_info *view)
{
    (void)ctx;
    http_server_replyf(request, 200, "%zu", view->body.len);
}

static void on_later(void *ctx, struct http_server_request *request,
                     const struct http_server_request_info *view)
{
    (void)ctx;
    (void)view;
    held = request;
}

static void on_gone(void *ctx, struct http_server_request *request)
{
    (void)ctx;
    CHECK(request == held);
    held = NULL;
}

static const struct http_server_route routes[] = {
    {.path = "/length", .methods = "GET, POST", .fn = on_length, .max_body = BODY_BYTES},
    {.path = "/later", .fn = on_later, .gone = on_gone},
    {0},
};

/* A server, and a client for each of two certificates, who trusts that one alone. */
struct bench {
    struct loop *loop;
    struct http_server *http_server;
    struct peer_identity first, second;
    struct http_client *trusts_first, *trusts_second;
};

static struct http_server_tls tls_of(const struct peer_identity *identity)
{
    return (struct http_server_tls){.certificates = identity->cert_pem, .key = identity->key_pem};
}

static struct http_client *client_of(struct bench *b, const struct peer_identity *identity)
{
    struct err err;
    struct http_client *http = http_client_new(
        b->loop, &(struct http_client_options){.user_agent = "test/1", .ca_pem = identity->cert_pem}, &err);

    CHECK_OK(http != NULL, err);
    return http;
}

static void bench_init(struct bench *b)
{
    struct err err;

    held = NULL;
    b->loop = loop_new();
    peer_identity_make(&b->first, "127.0.0.1");
    peer_identity_make(&b->second, "127.0.0.1");
    struct http_server_tls tls = tls_of(&b->first);
    b->http_server = http_server_new(
        b->loop, &(struct http_server_options){.address = "127.0.0.1", .routes = routes, .tls = &tls}, &err);
    CHECK_OK(b->http_server != NULL, err);
    b->trusts_first = client_of(b, &b->first);
    b->trusts_second = client_of(b, &b->second);
}

static void bench_release(struct bench *b)
{
    http_client_free(b->trusts_first);
    http_client_free(b->trusts_second);
    http_server_free(b->http_server);
    loop_free(b->loop);
}

static void begin(struct bench *b, struct http_client *http, struct exchange *x, const char *path,
                  struct slice body)
{
    AUTO(mem) char *url = mem_printf("https://127.0.0.1:%u%s", http_server_port(b->http_server), path);

    exchange_send(x, b->loop, http,
                  (struct http_request){.method = body.len > 0 ? "POST" : "GET", .url = url, .body = body});
}

/* What came of a small request: ERR_NONE when it was answered. */
static enum err_kind ask(struct bench *b, struct http_client *http)
{
    struct exchange x = {0};

    begin(b, http, &x, "/length", SLICE_LIT("12345"));
    exchange_wait(&x);
    if (x.err.kind == ERR_NONE)
        CHECK_STR_EQ(str_text(&x.body), "5");
    exchange_release(&x);
    return x.err.kind;
}

static bool is_held(void *ctx)
{
    (void)ctx;
    return held != NULL;
}

/* Whatever is left of a record in TLS makes no socket readable; records have 16 KB. */
TEST_F(bench, b, bodies_pass_over_tls)
{
    static const size_t sizes[] = {1, 4096, 8193, 12377, 16384, 16385, 40000, BODY_BYTES};
    AUTO(mem) char *body = mem_alloc(BODY_BYTES);

    CHECK_ROWS (size, sizes) {
        struct exchange x = {0};
        AUTO(mem) char *length = mem_printf("%zu", *size);

        begin(b, b->trusts_first, &x, "/length", (struct slice){body, *size});
        exchange_wait(&x);
        CHECK_INT_EQ(x.err.kind, ERR_NONE);
        CHECK_STR_EQ(str_text(&x.body), length);
        exchange_release(&x);
    }
    CHECK_INT_EQ(ask(b, b->trusts_second), ERR_DENIED);
}

TEST_F(bench, b, another_certificate_drops_no_request)
{
    struct err err;
    struct exchange x = {0};

    begin(b, b->trusts_first, &x, "/later", (struct slice){0});
    exchange_run_until(b->loop, is_held, NULL);
    struct http_server_tls tls = tls_of(&b->second);
    CHECK_OK(http_server_set_tls(b->http_server, &tls, &err), err);
    CHECK_INT_EQ(ask(b, b->trusts_second), ERR_NONE);
    http_server_replyf(TAKE(held), 202, "at last");
    exchange_wait(&x);
    CHECK_INT_EQ(x.err.kind, ERR_NONE);
    CHECK_INT_EQ(x.res.status, 202);
    struct http_client *late = client_of(b, &b->first);
    CHECK_INT_EQ(ask(b, late), ERR_DENIED);
    http_client_free(late);
    exchange_release(&x);
}

TEST_F(bench, b, a_certificate_with_another_type_of_key_takes_the_place_of_the_one_before)
{
    struct peer_identity rsa;
    struct err err;

    peer_identity_make_rsa(&rsa, "127.0.0.1");
    const struct peer_identity *turns[] = {&rsa, &b->second, &rsa};
    CHECK_ROWS (turn, turns) {
        struct http_server_tls tls = tls_of(*turn);

        CHECK_OK(http_server_set_tls(b->http_server, &tls, &err), err);
        for (size_t i = 0; i < COUNT_OF(turns); i++) {
            struct http_client *client = client_of(b, turns[i]);

            CHECK_INT_EQ(ask(b, client), turns[i] == *turn ? ERR_NONE : ERR_DENIED);
            http_client_free(client);
        }
    }
}

TEST_F(bench, b, a_bad_certificate_changes_nothing)
{
    const struct {
        struct http_server_tls tls;
        const char *says;
    } rows[] = {
        {{b->second.cert_pem, b->first.key_pem}, "the key does not belong to the certificate"},
        {{"", b->first.key_pem}, "no PEM certificate found"},
        {{b->first.key_pem, b->first.key_pem}, "no PEM certificate found"},
        {{b->second.cert_pem, "rubbish"}, "no PEM key without a passphrase found"},
    };
    CHECK_ROWS (row, rows) {
        struct err err = {0};

        CHECK(!http_server_set_tls(b->http_server, &row->tls, &err));
        CHECK_INT_EQ(err.kind, ERR_INVALID);
        CHECK_STR_EQ(err.msg, row->says);
        CHECK_INT_EQ(ask(b, b->trusts_first), ERR_NONE);
    }
}

TEST(a_server_without_a_usable_certificate_does_not_start)
{
    struct loop *loop = loop_new();
    struct err err = {0};

    CHECK(!http_server_new(
        loop,
        &(struct http_server_options){
            .address = "127.0.0.1", .routes = routes, .tls = &(struct http_server_tls){"rubbish", "rubbish"}},
        &err));
    CHECK(err.kind != ERR_NONE);
    loop_free(loop);
}

static bool speaks_plainly(int fd)
{
    char answer[1024];

    peer_send(fd, "GET /length HTTP/1.1\r\nHost: x\r\n\r\n");
    (void)peer_read_all(fd, answer, sizeof answer);
    return strstr(answer, " 200 ") == NULL;
}

static bool leaves_at_once(int fd)
{
    peer_send(fd, "\x16\x03\x01");
    return true;
}

TEST_F(bench, b, who_does_not_speak_tls_is_dropped)
{
    static bool (*const scripts[])(int fd) = {speaks_plainly, leaves_at_once};

    CHECK_ROWS (script, scripts) {
        CHECK(exchange_run_client(b->loop, http_server_port(b->http_server), *script));
    }
    CHECK_INT_EQ(ask(b, b->trusts_first), ERR_NONE);
}
