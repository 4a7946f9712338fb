#include "operator/serve/certificates/certificate.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/io/pem.h"

enum { DAY_S = 86400, SKEW_S = 3600, SERIAL_BITS = 127, OLD_CAS_MAX = 3, PEM_MAX = 64 * 1024 };

/* OpenSSL fails at what is done here only when there is no memory, or no randomness. */
static void *must(void *made)
{
    if (!made)
        abort();
    return made;
}

static void need(bool done)
{
    if (!done)
        abort();
}

/* ---- text ---- */

static X509 *read_x509(const char *pem)
{
    BIO *bio = pem_open(pem, PEM_MAX);
    X509 *x509 = pem_next_certificate(bio);

    BIO_free(bio);
    return x509;
}

static char *print_key(EVP_PKEY *key)
{
    BIO *bio = must(BIO_new(BIO_s_mem()));
    char *text, *copy;
    long len;

    need(PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL));
    len = BIO_get_mem_data(bio, &text);
    copy = mem_strndup(text, (size_t)len);
    BIO_free(bio);
    return copy;
}

/* ---- making ---- */

static void add_extension(X509 *x509, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;

    X509V3_set_ctx(&ctx, issuer, x509, NULL, NULL, 0);
    X509_EXTENSION *extension = must(X509V3_EXT_conf_nid(NULL, &ctx, nid, value));
    need(X509_add_ext(x509, extension, -1));
    X509_EXTENSION_free(extension);
}

static void set_random_serial(X509 *x509)
{
    BIGNUM *number = must(BN_new());

    need(BN_rand(number, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY));
    need(BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x509)) != NULL);
    BN_free(number);
}

/* What a CA and a server's certificate have in common. */
static X509 *new_x509(const char *common_name, EVP_PKEY *key, int64_t now_s, unsigned days)
{
    X509 *x509 = must(X509_new());
    X509_NAME *name = X509_get_subject_name(x509);

    need(X509_set_version(x509, X509_VERSION_3));
    set_random_serial(x509);
    need(ASN1_TIME_set(X509_getm_notBefore(x509), (time_t)(now_s - SKEW_S)) != NULL);
    need(ASN1_TIME_set(X509_getm_notAfter(x509), (time_t)(now_s + (int64_t)days * DAY_S)) != NULL);
    need(
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)common_name, -1, -1, 0));
    need(X509_set_pubkey(x509, key));
    return x509;
}

static X509 *make_ca(EVP_PKEY *key, int64_t now_s, unsigned days)
{
    X509 *ca = new_x509("ipu-operator CA", key, now_s, days);

    need(X509_set_issuer_name(ca, X509_get_subject_name(ca)));
    add_extension(ca, ca, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
    add_extension(ca, ca, NID_key_usage, "critical,keyCertSign");
    add_extension(ca, ca, NID_subject_key_identifier, "hash");
    need(X509_sign(ca, key, EVP_sha256()) > 0);
    return ca;
}

/* X.509's list of subject alternative names takes each as what it is. */
static void add_names(X509 *cert, const struct strv *names)
{
    GENERAL_NAMES *list = must(GENERAL_NAMES_new());

    for (size_t i = 0; i < names->count; i++) {
        ASN1_OCTET_STRING *address = a2i_IPADDRESS(names->items[i]);
        GENERAL_NAME *name = must(GENERAL_NAME_new());

        if (address) {
            GENERAL_NAME_set0_value(name, GEN_IPADD, address);
        } else {
            ASN1_IA5STRING *dns = must(ASN1_IA5STRING_new());

            need(ASN1_STRING_set(dns, names->items[i], -1));
            GENERAL_NAME_set0_value(name, GEN_DNS, dns);
        }
        need(sk_GENERAL_NAME_push(list, name) > 0);
    }
    need(X509_add1_ext_i2d(cert, NID_subject_alt_name, list, 0, X509V3_ADD_DEFAULT) == 1);
    GENERAL_NAMES_free(list);
    ERR_clear_error();
}

static X509 *make_cert(EVP_PKEY *key, const struct strv *names, int64_t now_s, unsigned days, X509 *ca,
                       EVP_PKEY *ca_key)
{
    X509 *cert = new_x509("ipu-operator", key, now_s, days);

    need(X509_set_issuer_name(cert, X509_get_subject_name(ca)));
    add_extension(cert, ca, NID_basic_constraints, "critical,CA:FALSE");
    add_extension(cert, ca, NID_key_usage, "critical,digitalSignature");
    add_extension(cert, ca, NID_ext_key_usage, "serverAuth");
    add_extension(cert, ca, NID_authority_key_identifier, "keyid:always");
    add_names(cert, names);
    need(X509_sign(cert, ca_key, EVP_sha256()) > 0);
    return cert;
}

static void add_living(struct str *out, const char *old_ca, int64_t now_s)
{
    BIO *bio = pem_open(old_ca, PEM_MAX);
    X509 *x509;

    for (int kept = 0; kept < OLD_CAS_MAX && (x509 = pem_next_certificate(bio)); X509_free(x509)) {
        if (pem_has_ended(x509, now_s))
            continue;
        pem_add_certificate(out, x509);
        kept++;
    }
    BIO_free(bio);
}

static void make(const struct strv *names, int64_t now_s, unsigned days, const char *old_ca,
                 struct certificate *ret)
{
    EVP_PKEY *ca_key = must(EVP_EC_gen("P-256"));
    EVP_PKEY *key = must(EVP_EC_gen("P-256"));
    X509 *ca = make_ca(ca_key, now_s, days);
    X509 *cert = make_cert(key, names, now_s, days, ca, ca_key);
    struct str trusted = {0}, shown = {0};

    pem_add_certificate(&trusted, ca);
    add_living(&trusted, old_ca, now_s);
    pem_add_certificate(&shown, cert);
    *ret = (struct certificate){.ca = str_take(&trusted), .cert = str_take(&shown), .key = print_key(key)};
    X509_free(cert);
    X509_free(ca);
    EVP_PKEY_free(key);
    EVP_PKEY_free(ca_key);
}

void certificate_make(const struct strv *names, int64_t now_s, const char *old_ca, struct certificate *ret)
{
    make(names, now_s, CERTIFICATE_DAYS, old_ca, ret);
}

void certificate_make_lasting(const struct strv *names, int64_t now_s, struct certificate *ret)
{
    make(names, now_s, CERTIFICATE_LASTING_DAYS, NULL, ret);
}

/* ---- judging ---- */

/* Others' certificates may hold a time that is none: it is long over. */
static int64_t unix_of(const ASN1_TIME *when)
{
    ASN1_TIME *epoch = must(ASN1_TIME_set(NULL, 0));
    int days = 0, seconds = 0;
    bool is_time = ASN1_TIME_diff(&days, &seconds, epoch, when) == 1;

    ASN1_TIME_free(epoch);
    return is_time ? (int64_t)days * DAY_S + seconds : 0;
}

static int64_t due_of(const X509 *cert)
{
    int64_t begin = unix_of(X509_get0_notBefore(cert));

    return begin + (unix_of(X509_get0_notAfter(cert)) - begin) / 3 * 2;
}

static bool covers(X509 *cert, const char *name)
{
    return X509_check_host(cert, name, 0, 0, NULL) == 1 || X509_check_ip_asc(cert, name, 0) == 1;
}

static bool is_signed_by(X509 *cert, const char *trusted)
{
    BIO *bio = pem_open(trusted, PEM_MAX);
    X509 *ca;
    bool found = false;

    while (!found && (ca = pem_next_certificate(bio))) {
        found = X509_check_issued(ca, cert) == X509_V_OK && X509_verify(cert, X509_get0_pubkey(ca)) == 1;
        X509_free(ca);
    }
    BIO_free(bio);
    ERR_clear_error();
    return found;
}

static int64_t end_of(const X509 *cert)
{
    return unix_of(X509_get0_notAfter(cert));
}

static const char *fault_of(X509 *cert, EVP_PKEY *key, const char *trusted, const struct strv *names,
                            bool is_given, int64_t now_s)
{
    if (!cert || !key)
        return "no readable certificate";
    if (X509_check_private_key(cert, key) != 1)
        return "private key does not match";
    if (!is_signed_by(cert, trusted))
        return "CA certificate is missing";
    for (size_t i = 0; i < names->count; i++) {
        if (!covers(cert, names->items[i]))
            return "DNS names do not match";
    }
    if (unix_of(X509_get0_notBefore(cert)) > now_s)
        return "not yet valid";
    if (is_given)
        return now_s >= end_of(cert) ? "expired" : NULL;
    return now_s >= due_of(cert) ? "due for renewal: two thirds of its lifetime have passed" : NULL;
}

const char *certificate_problem(const struct certificate *certificate, const struct strv *names,
                                bool is_given, int64_t now_s)
{
    X509 *cert = read_x509(certificate->cert);
    EVP_PKEY *key = pem_read_key(certificate->key, PEM_MAX);
    const char *fault = fault_of(cert, key, certificate->ca, names, is_given, now_s);

    X509_free(cert);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return fault;
}

static int64_t time_of(const struct certificate *certificate, int64_t (*read)(const X509 *cert))
{
    X509 *cert = read_x509(certificate->cert);
    int64_t when = cert ? read(cert) : 0;

    X509_free(cert);
    return when;
}

int64_t certificate_end_s(const struct certificate *certificate)
{
    return time_of(certificate, end_of);
}

int64_t certificate_renewal_time_s(const struct certificate *certificate)
{
    return time_of(certificate, due_of);
}

void certificate_release(struct certificate *certificate)
{
    mem_free(certificate->ca);
    mem_free(certificate->cert);
    mem_free_secret(certificate->key);
    *certificate = (struct certificate){0};
}
