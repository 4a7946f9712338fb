/* Both ends of TLS in memory: what one of them says travels through this test to the other. */
#include "vipu/wire/transport/tls.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/io/file.h"
#include "lib/check.h"
#include "unit/base/http/peer.h"

struct pair {
    struct tls_context *client_side, *server_side;
    struct tls *client, *server;
};

static char *in_tmp(const char *name, const char *text)
{
    char *path = mem_printf("%s/%s", check_tmpdir(), name);
    struct err err;

    CHECK_OK(file_write(path, 0600, slice_of(text), &err), err);
    return path;
}

/* A server with a certificate for `named`, and a client that believes it and wants `host`. */
static struct pair pair_new(const char *named, const char *host)
{
    struct peer_identity identity;
    AUTO(strv) struct strv problems = {0};
    struct pair pair;
    struct err err;

    peer_identity_make(&identity, named);
    AUTO(mem) char *certificate = in_tmp("certificate", identity.cert_pem);
    AUTO(mem) char *key = in_tmp("key", identity.key_pem);
    pair.server_side =
        tls_context_server(&(struct tls_files){.certificate = certificate, .key = key}, &problems);
    CHECK_INT_EQ(problems.count, 0);
    pair.client_side = tls_context_client(&(struct tls_files){.ca = certificate}, &err);
    CHECK(pair.client_side != NULL);
    pair.client = tls_new_client(pair.client_side, host);
    pair.server = tls_new_server(pair.server_side);
    return pair;
}

static void pair_release(struct pair *pair)
{
    tls_free(pair->client);
    tls_free(pair->server);
    tls_context_free(pair->client_side);
    tls_context_free(pair->server_side);
}

DEFINE_AUTO(pair);

static void pair_init(struct pair *pair)
{
    *pair = pair_new("localhost", "localhost");
}

/* What one end has to say now. */
static struct str said_by(struct tls *tls)
{
    struct str out = {0};
    struct err err;

    CHECK_OK(tls_shake(tls, &err), err);
    CHECK_OK(tls_drain(tls, &out, &err), err);
    return out;
}

/* The peer hears it in pieces; what comes out in the clear is added to `plain`. */
static bool hear(struct tls *tls, const struct str *said, size_t piece, struct str *plain, struct err *err)
{
    for (size_t at = 0; at < said->len; at += piece) {
        char bytes[100];
        size_t len;

        tls_feed(tls, said->ptr + at, said->len - at < piece ? said->len - at : piece);
        do {
            if (!tls_read(tls, bytes, sizeof(bytes), &len, err))
                return false;
            str_add(plain, bytes, len);
        } while (len);
    }
    return true;
}

static bool pass(struct tls *from, struct tls *to, size_t piece, struct err *err)
{
    AUTO(str) struct str plain = {0};
    AUTO(str) struct str said = said_by(from);

    return hear(to, &said, piece, &plain, err);
}

static void open_pair(struct pair *pair, size_t piece)
{
    struct err err;

    while (!tls_is_open(pair->client) || !tls_is_open(pair->server)) {
        CHECK_OK(pass(pair->client, pair->server, piece, &err), err);
        CHECK_OK(pass(pair->server, pair->client, piece, &err), err);
    }
}

static void send_through(struct tls *from, struct tls *to, size_t size, size_t piece)
{
    AUTO(mem) char *bytes = mem_alloc(size + 1);
    AUTO(str) struct str sealed = {0};
    AUTO(str) struct str plain = {0};
    struct err err;

    memset(bytes, 'x', size);
    CHECK_OK(tls_seal(from, slice_of(bytes), &sealed, &err), err);
    CHECK(sealed.len > size);
    CHECK(hear(to, &sealed, piece, &plain, &err));
    CHECK_STR_EQ(str_text(&plain), bytes);
}

TEST(records_arrive_in_pieces_of_any_size)
{
    static const size_t pieces[] = {1, 7, 1000, 1000000};

    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        AUTO(pair) struct pair pair = pair_new("localhost", "localhost");

        open_pair(&pair, pieces[i]);
        send_through(pair.client, pair.server, 5, pieces[i]);
        send_through(pair.server, pair.client, 40000, pieces[i]);
        send_through(pair.client, pair.server, 0x4000, pieces[i]);
    }
}

TEST_F(pair, pair, nothing_of_a_sealed_message_stays_in_the_buffer)
{
    AUTO(str) struct str sealed = {0};
    AUTO(str) struct str rest = {0};
    AUTO(str) struct str plain = {0};
    struct err err;

    open_pair(pair, 100000);
    CHECK_OK(tls_seal(pair->client, slice_of("a gated request"), &sealed, &err), err);
    /* The caller drops the records. */
    CHECK_OK(tls_drain(pair->client, &rest, &err), err);
    CHECK_INT_EQ(rest.len, 0);
    tls_end(pair->client);
    CHECK_OK(tls_drain(pair->client, &rest, &err), err);
    CHECK(!hear(pair->server, &rest, 100, &plain, &err));
    CHECK_INT_EQ(plain.len, 0);
}

TEST_F(pair, pair, an_end_is_understood)
{
    AUTO(str) struct str plain = {0};
    AUTO(str) struct str out = {0};
    struct err err;

    open_pair(pair, 100000);
    tls_end(pair->server);
    CHECK_OK(tls_drain(pair->server, &out, &err), err);
    CHECK_ERR(hear(pair->client, &out, 100, &plain, &err), err, ERR_IO);
    CHECK_HAS(err.msg, "closed");
}

TEST_F(pair, pair, an_output_that_is_full)
{
    AUTO(str) struct str out = {.max = 10};
    struct err err;

    CHECK_OK(tls_shake(pair->client, &err), err);
    CHECK_ERR(tls_drain(pair->client, &out, &err), err, ERR_IO);
}

/* Each byte of the server's first flight, damaged: the client ends with a typed error, or waits for more. */
TEST(damaged_handshakes)
{
    for (size_t at = 0;; at += 11) {
        AUTO(pair) struct pair pair = pair_new("localhost", "localhost");
        AUTO(str) struct str plain = {0};
        struct err err = {0};
        bool is_over;

        CHECK_OK(pass(pair.client, pair.server, 100000, &err), err);
        AUTO(str) struct str said = said_by(pair.server);
        is_over = at >= said.len;
        if (!is_over) {
            said.ptr[at] = (char)(said.ptr[at] ^ 0x41);
            if (!hear(pair.client, &said, 100000, &plain, &err))
                CHECK(err.kind == ERR_IO || err.kind == ERR_DENIED);
            CHECK(!tls_is_open(pair.client));
        }
        if (is_over)
            break;
    }
}

TEST(what_a_certificate_has_to_name)
{
    static const struct {
        const char *named, *host;
        bool is_believed;
    } rows[] = {
        {"localhost", "localhost", true},
        {"localhost", "LocalHost", true},
        {"localhost", "localhost.", true},
        {"localhost", "localhost.localdomain", false},
        {"*.example.org", "a.example.org", true},
        {"*.example.org", "a.b.example.org", false},
        {"*.example.org", "example.org", false},
        {"a*.example.org", "ab.example.org", false},
        {"127.0.0.1", "127.0.0.1", true},
        {"127.0.0.1", "127.0.0.2", false},
        {"localhost", "127.0.0.1", false},
        {"127.0.0.1", "localhost", false},
        {"localhost", "::1", false},
    };

    CHECK_ROWS (row, rows) {
        AUTO(pair) struct pair pair = pair_new(row->named, row->host);
        struct err err;

        if (row->is_believed) {
            open_pair(&pair, 100000);
        } else {
            CHECK_OK(pass(pair.client, pair.server, 100000, &err), err);
            CHECK_ERR(pass(pair.server, pair.client, 100000, &err), err, ERR_DENIED);
            CHECK_HAS(err.msg, row->host);
        }
    }
}

/* A TLS 1.2 server of OpenSSL that asks for renegotiation again and again; each time the client declines. */
TEST_F(pair, pair, a_peer_that_asks_and_reads_nothing)
{
    SSL_CTX *hostile = tls_context_ssl(pair->server_side);
    AUTO(str) struct str plain = {0};
    struct err err = {0};
    bool ok = true;

    SSL_CTX_set_max_proto_version(hostile, TLS1_2_VERSION);
    SSL_CTX_clear_options(hostile, SSL_OP_NO_RENEGOTIATION);
    SSL *ssl = SSL_new(hostile);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl, in, out);
    SSL_set_accept_state(ssl);
    for (int i = 0; ok && i < 1000000; i++) {
        AUTO(str) struct str asked = {0};
        char *bytes;

        if (!tls_is_open(pair->client)) {
            AUTO(str) struct str said = said_by(pair->client);

            BIO_write(in, said.ptr, (int)said.len);
        } else {
            SSL_renegotiate(ssl);
        }
        SSL_do_handshake(ssl);
        long len = BIO_get_mem_data(out, &bytes);
        str_add(&asked, bytes, (size_t)len);
        (void)BIO_reset(out);
        ok = hear(pair->client, &asked, 100000, &plain, &err);
    }
    CHECK(!ok && err.kind == ERR_IO);
    CHECK_HAS(err.msg, "does not read its TLS responses");
    SSL_free(ssl);
}

TEST(what_is_no_tls)
{
    static const struct {
        struct slice text;
        bool is_told;
    } rows[] = {
        {{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24}, true},
        {{"HTTP/1.1 400 Bad Request\r\n\r\n", 28}, true},
        {{"\x15\x03\x03\0\2\2\x28", 7}, false},
        {{"\x16\x03\x03\xff\xff\2\x28", 7}, false},
    };

    CHECK_ROWS (row, rows) {
        AUTO(pair) struct pair pair = pair_new("localhost", "localhost");
        AUTO(str) struct str plain = {0};
        AUTO(str) struct str said = {0};
        AUTO(str) struct str hello = said_by(pair.client);
        struct err err;

        CHECK(hello.len > 0);
        str_add(&said, row->text.ptr, row->text.len);
        CHECK_ERR(hear(pair.client, &said, 3, &plain, &err), err, ERR_IO);
        CHECK_INT_EQ(strstr(err.msg, "does not speak TLS") != NULL, row->is_told);
        CHECK_ERR(hear(pair.server, &said, 3, &plain, &err), err, ERR_IO);
    }
}

TEST(every_mistake_in_both_files)
{
    struct peer_identity one, other;
    AUTO(strv) struct strv problems = {0};

    peer_identity_make(&one, "localhost");
    peer_identity_make(&other, "localhost");
    AUTO(mem) char *certificate = in_tmp("one.pem", one.cert_pem);
    AUTO(mem) char *strange_key = in_tmp("other.key", other.key_pem);
    AUTO(mem) char *empty = in_tmp("empty", "");
    CHECK(
        !tls_context_server(&(struct tls_files){.certificate = certificate, .key = strange_key}, &problems));
    CHECK_INT_EQ(problems.count, 1);
    CHECK_HAS(problems.items[0], "other.key");
    CHECK(!tls_context_server(&(struct tls_files){.certificate = empty, .key = empty}, &problems));
    CHECK_INT_EQ(problems.count, 3);
    CHECK_HAS(problems.items[1], "no PEM certificate");
    CHECK_HAS(problems.items[2], "no PEM private key");
}
