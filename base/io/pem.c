#include "base/io/pem.h"

#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

int pem_no_passphrase(char *out, int size, int writing, void *ctx)
{
    (void)out;
    (void)size;
    (void)writing;
    (void)ctx;
    return -1;
}

BIO *pem_open(const char *text, size_t max)
{
    BIO *bio = BIO_new_mem_buf(text ? text : "", (int)(text ? strnlen(text, max) : 0));

    if (!bio)
        abort(); /* no memory */
    return bio;
}

X509 *pem_next_certificate(BIO *bio)
{
    X509 *certificate = PEM_read_bio_X509(bio, NULL, pem_no_passphrase, NULL);

    ERR_clear_error();
    return certificate;
}

void pem_add_certificate(struct str *out, X509 *certificate)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text;
    long len;

    if (!bio || !PEM_write_bio_X509(bio, certificate))
        abort(); /* no memory */
    len = BIO_get_mem_data(bio, &text);
    (void)str_add(out, text, (size_t)len);
    BIO_free(bio);
}

bool pem_has_ended(const X509 *certificate, int64_t now_s)
{
    time_t now = (time_t)now_s;

    return X509_cmp_time(X509_get0_notAfter(certificate), &now) < 0;
}

EVP_PKEY *pem_read_key(const char *text, size_t max)
{
    BIO *bio = pem_open(text, max);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, pem_no_passphrase, NULL);

    BIO_free(bio);
    ERR_clear_error();
    return key;
}
