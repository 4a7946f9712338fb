#include "operator/serve/certificates/certificate.h"

#include <openssl/pem.h>
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

enum { DAY_S = 86400 };
#define NOW ((int64_t)1800000000)

static char *name_items[] = {"svc.ns.svc", "127.0.0.1", NULL};
static const struct strv names = {.items = name_items, .count = 2};

static int count_of(const char *text, const char *what)
{
    int count = 0;

    while ((text = strstr(text, what))) {
        text++;
        count++;
    }
    return count;
}

static int certificates_in(const char *pem)
{
    return count_of(pem, "BEGIN CERTIFICATE");
}

TEST(a_new_one_is_good_until_two_thirds_of_its_time_are_over)
{
    static const struct {
        int64_t day;
        const char *fault;
        const char *fault_if_given;
    } rows[] = {
        {-1, "not yet valid", "not yet valid"},
        {0, NULL, NULL},
        {59, NULL, NULL},
        {60, "due for renewal: two thirds of its lifetime have passed", NULL},
        {89, "due for renewal: two thirds of its lifetime have passed", NULL},
        {91, "due for renewal: two thirds of its lifetime have passed", "expired"},
    };
    AUTO(certificate) struct certificate made = {0};

    certificate_make(&names, NOW, NULL, &made);
    CHECK_ROWS (row, rows) {
        CHECK_STR_EQ(certificate_problem(&made, &names, false, NOW + row->day * DAY_S), row->fault);
        CHECK_STR_EQ(certificate_problem(&made, &names, true, NOW + row->day * DAY_S), row->fault_if_given);
    }
    CHECK_INT_EQ(certificate_end_s(&made), NOW + (int64_t)CERTIFICATE_DAYS * DAY_S);
    CHECK(certificate_renewal_time_s(&made) > NOW + 59 * DAY_S &&
          certificate_renewal_time_s(&made) < NOW + 60 * DAY_S);
    CHECK_INT_EQ(certificates_in(made.ca), 1);
    CHECK_INT_EQ(certificates_in(made.cert), 1);
}

TEST(a_lasting_one_is_good_for_ten_years)
{
    AUTO(certificate) struct certificate made = {0};

    certificate_make_lasting(&names, NOW, &made);
    CHECK_STR_EQ(certificate_problem(&made, &names, true, NOW + 3649 * DAY_S), NULL);
    CHECK_STR_EQ(certificate_problem(&made, &names, true, NOW + 3651 * DAY_S), "expired");
}

TEST(what_does_not_belong_together_is_a_fault)
{
    AUTO(certificate) struct certificate a = {0}, b = {0};
    static char *more_items[] = {"svc.ns.svc", "other.ns.svc", NULL};
    const struct strv more = {.items = more_items, .count = 2};

    certificate_make(&names, NOW, NULL, &a);
    certificate_make(&names, NOW, NULL, &b);
    const struct {
        struct certificate it;
        const struct strv *names;
        const char *fault;
    } rows[] = {
        {{0}, &names, "no readable certificate"},
        {{a.ca, "rubbish", a.key}, &names, "no readable certificate"},
        {{a.ca, a.cert, "rubbish"}, &names, "no readable certificate"},
        {{a.ca, a.cert, b.key}, &names, "private key does not match"},
        {{b.ca, a.cert, a.key}, &names, "CA certificate is missing"},
        {{NULL, a.cert, a.key}, &names, "CA certificate is missing"},
        {{a.ca, a.cert, a.key}, &more, "DNS names do not match"},
        {{a.ca, a.cert, a.key}, &names, NULL},
    };
    CHECK_ROWS (row, rows)
        CHECK_STR_EQ(certificate_problem(&row->it, row->names, false, NOW), row->fault);
    CHECK_INT_EQ(certificate_end_s(&rows[1].it), 0);
    CHECK_INT_EQ(certificate_renewal_time_s(&rows[1].it), 0);
}

TEST(old_cas_are_trusted_until_they_end)
{
    AUTO(certificate) struct certificate now = {0};
    static const struct {
        int64_t day;
        int trusted;
    } rows[] = {{0, 1}, {10, 2}, {20, 3}, {30, 4}, {40, 4}, {200, 1}};

    CHECK_ROWS (row, rows) {
        struct certificate next = {0};

        certificate_make(&names, NOW + row->day * DAY_S, now.ca, &next);
        CHECK_INT_EQ(certificates_in(next.ca), row->trusted);
        CHECK_STR_EQ(certificate_problem(&next, &names, false, NOW + row->day * DAY_S), NULL);
        /* Who still shows the certificate before is trusted. */
        if (row->trusted > 1)
            CHECK_STR_EQ(certificate_problem(&(struct certificate){next.ca, now.cert, now.key}, &names, false,
                                             NOW + row->day * DAY_S),
                         NULL);
        certificate_release(&now);
        now = next;
    }
}

TEST(rubbish_before_is_dropped)
{
    AUTO(certificate) struct certificate made = {0};

    certificate_make(&names, NOW, "rubbish\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                     &made);
    CHECK_INT_EQ(certificates_in(made.ca), 1);
}

TEST(no_key_is_kept_but_the_servers)
{
    AUTO(certificate) struct certificate made = {0};

    certificate_make(&names, NOW, NULL, &made);
    CHECK_INT_EQ(count_of(made.key, "BEGIN PRIVATE KEY"), 1);
    CHECK_INT_EQ(count_of(made.ca, "PRIVATE"), 0);
}

/* As one that others made may be. */
static char *with_end(const char *pem, const char *end)
{
    BIO *in = BIO_new_mem_buf(pem, -1), *out = BIO_new(BIO_s_mem());
    X509 *x509 = PEM_read_bio_X509(in, NULL, NULL, NULL);
    ASN1_TIME *time = ASN1_TIME_new();
    char *bytes;

    CHECK(x509 && ASN1_STRING_set(time, end, -1) && X509_set1_notAfter(x509, time) &&
          i2d_re_X509_tbs(x509, NULL) > 0);
    CHECK(PEM_write_bio_X509(out, x509));
    long len = BIO_get_mem_data(out, &bytes);
    char *text = mem_strndup(bytes, (size_t)len);
    ASN1_TIME_free(time);
    X509_free(x509);
    BIO_free(in);
    BIO_free(out);
    return text;
}

TEST(a_time_that_is_none_is_long_over)
{
    AUTO(certificate) struct certificate made = {0}, odd = {0};

    certificate_make(&names, NOW, NULL, &made);
    odd.cert = with_end(made.cert, "99999999999Z9");
    CHECK_INT_EQ(certificate_end_s(&odd), 0);
    CHECK(certificate_renewal_time_s(&odd) < NOW);
    CHECK(certificate_problem(&odd, &names, true, NOW));
}
