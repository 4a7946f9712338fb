#include "operator/serve/live/page_tls.h"

#include <openssl/err.h>
#include <stdlib.h>

#include "base/core/mem.h"

enum { RECORD_BYTES = 16 * 1024 }; /* at most; buffers of the library keep the size that they once had */

struct page_tls {
    SSL *ssl;
    BIO *in, *out; /* of ssl */
};

struct page_tls *page_tls_new(SSL_CTX *context)
{
    struct page_tls *tls = NEW(struct page_tls);

    *tls = (struct page_tls){SSL_new(context), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem())};
    if (!tls->ssl || !tls->in || !tls->out)
        abort(); /* no memory */
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    SSL_set_accept_state(tls->ssl);
    return tls;
}

void page_tls_free(struct page_tls *tls)
{
    if (tls)
        SSL_free(tls->ssl);
    mem_free(tls);
}

void page_tls_receive(struct page_tls *tls, struct slice wire)
{
    (void)BIO_write(tls->in, wire.ptr, (int)wire.len);
}

int page_tls_read(struct page_tls *tls, char *ret, size_t room)
{
    int len = SSL_read(tls->ssl, ret, (int)room);
    bool wants_more = len <= 0 && SSL_get_error(tls->ssl, len) == SSL_ERROR_WANT_READ;

    ERR_clear_error(); /* the error queue is per thread, so it must be left empty */
    return len > 0 ? len : wants_more ? 0 : -1;
}

void page_tls_flush(struct page_tls *tls, struct str *wire)
{
    char *bytes;
    long len = BIO_get_mem_data(tls->out, &bytes);

    (void)str_add(wire, bytes, (size_t)len);
    (void)BIO_reset(tls->out);
}

void page_tls_write(struct page_tls *tls, struct slice plain, struct str *wire)
{
    while (plain.len > 0) {
        size_t len = plain.len < RECORD_BYTES ? plain.len : RECORD_BYTES;
        int written = SSL_write(tls->ssl, plain.ptr, (int)len);

        ERR_clear_error();
        if (written <= 0) /* the peer has broken it off; the next read says so */
            return;
        page_tls_flush(tls, wire);
        plain = (struct slice){plain.ptr + written, plain.len - (size_t)written};
    }
}

void page_tls_end(struct page_tls *tls, struct str *wire)
{
    if (!(SSL_get_shutdown(tls->ssl) & SSL_SENT_SHUTDOWN))
        (void)SSL_shutdown(tls->ssl);
    ERR_clear_error();
    page_tls_flush(tls, wire);
}

size_t page_tls_unsent(const struct page_tls *tls)
{
    return BIO_ctrl_pending(tls->out);
}
