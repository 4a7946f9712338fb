#include "operator/serve/certificates/ca_bundle.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/kube/auth/base64.h"
#include "operator/serve/certificates/certificate.h"

enum { DAY_S = 86400 };
#define NOW ((int64_t)1800000000)

static char *name_items[] = {"svc.ns.svc", NULL};
static const struct strv names = {.items = name_items, .count = 1};

static char *ca_of(int64_t now_s)
{
    AUTO(certificate) struct certificate made = {0};

    certificate_make(&names, now_s, NULL, &made);
    return mem_strdup(made.ca);
}

static char *both(const char *a, const char *b)
{
    return mem_printf("%s%s", a, b);
}

/* The CAs of two replicas. */
struct cas {
    char *a, *b, *ab;
};

static void cas_init(struct cas *cas)
{
    *cas = (struct cas){.a = ca_of(NOW), .b = ca_of(NOW)};
    cas->ab = both(cas->a, cas->b);
}

static void cas_release(struct cas *cas)
{
    mem_free(cas->a);
    mem_free(cas->b);
    mem_free(cas->ab);
}

/* A replica's look at what stands there: what it writes, or what stands there. */
static char *after(const char *now_there, const char *own, int64_t now_s, struct ca_bundle_others *others)
{
    char *next = ca_bundle_next(now_there, own, now_s, others);

    return next ? next : mem_strdup(now_there);
}

TEST_F(cas, cas, own_cas_come_first_and_nothing_else_that_is_none)
{
    AUTO(mem) char *ba = both(cas->b, cas->a);
    AUTO(mem) char *aa = both(cas->a, cas->a);
    AUTO(mem) char *rubbish = both("rubbish\n", cas->a);
    AUTO(mem) char *broken = both("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", cas->a);
    const struct {
        const char *now_there, *own, *next;
    } rows[] = {
        {NULL, cas->a, cas->a},    {"", cas->a, cas->a},     {cas->a, cas->a, NULL},
        {cas->b, cas->a, cas->ab}, {cas->ab, cas->a, NULL},  {ba, cas->a, NULL},
        {cas->ab, ba, NULL},       {cas->a, ba, ba},         {"rubbish", cas->a, cas->a},
        {rubbish, cas->a, cas->a}, {broken, cas->a, cas->a}, {aa, cas->a, cas->a},
        {cas->a, "", NULL},        {cas->a, NULL, NULL},     {"", "rubbish", NULL},
    };

    CHECK_ROWS (row, rows) {
        struct ca_bundle_others others = {0};
        AUTO(mem) char *next = ca_bundle_next(row->now_there, row->own, NOW, &others);

        CHECK_STR_EQ(next, row->next);
    }
}

TEST_F(cas, cas, two_replicas_with_cas_of_their_own_agree)
{
    struct ca_bundle_others seen_by_a = {0}, seen_by_b = {0};
    AUTO(mem) char *first = after("", cas->a, NOW, &seen_by_a);
    AUTO(mem) char *second = after(first, cas->b, NOW, &seen_by_b);

    CHECK(strstr(second, cas->a) && strstr(second, cas->b));
    CHECK(!ca_bundle_next(second, cas->a, NOW, &seen_by_a));
    CHECK(!ca_bundle_next(second, cas->b, NOW, &seen_by_b));
}

TEST_F(cas, cas, others_go_when_they_have_stood_there_for_long)
{
    AUTO(mem) char *c = ca_of(NOW);
    AUTO(mem) char *abc = both(cas->ab, c);
    struct ca_bundle_others others = {0};

    CHECK(!ca_bundle_next(cas->ab, cas->a, NOW, &others));
    CHECK_INT_EQ(others.since_s, NOW);
    CHECK(!ca_bundle_next(cas->ab, cas->a, NOW + CA_BUNDLE_KEEP_OTHERS_S - 1, &others));
    CHECK(!ca_bundle_next(abc, cas->a, NOW + CA_BUNDLE_KEEP_OTHERS_S,
                          &others)); /* another one has just been added */
    CHECK(!ca_bundle_next(abc, cas->a, NOW + 2 * CA_BUNDLE_KEEP_OTHERS_S - 1, &others));
    AUTO(mem) char *next = ca_bundle_next(abc, cas->a, NOW + 2 * CA_BUNDLE_KEEP_OTHERS_S, &others);
    CHECK_STR_EQ(next, cas->a);
    CHECK(!ca_bundle_next(next, cas->a, NOW + 2 * CA_BUNDLE_KEEP_OTHERS_S, &others));
    CHECK_INT_EQ(others.since_s, 0);
}

TEST(who_has_ended_goes_at_once)
{
    AUTO(mem) char *old = ca_of(NOW - (int64_t)(CERTIFICATE_DAYS + 1) * DAY_S);
    AUTO(mem) char *a = ca_of(NOW);
    AUTO(mem) char *there = both(a, old);
    AUTO(mem) char *own = both(old, a);
    struct ca_bundle_others others = {0};
    AUTO(mem) char *next = ca_bundle_next(there, a, NOW, &others);
    AUTO(mem) char *of_both = ca_bundle_next(there, own, NOW, &others);

    CHECK_STR_EQ(next, a);
    CHECK_STR_EQ(of_both, a); /* also when it is one's own: replicas with other clocks agree in the end */
    CHECK(!ca_bundle_next(a, own, NOW, &others));
    CHECK(!ca_bundle_next(a, old, NOW, &others));
}

TEST(a_bundle_has_a_limit)
{
    AUTO(mem) char *own = ca_of(NOW);
    AUTO(str) struct str many = {0};
    struct ca_bundle_others others = {0};

    for (int i = 0; i < 40; i++) {
        AUTO(mem) char *ca = ca_of(NOW);

        (void)str_adds(&many, ca);
    }
    AUTO(mem) char *first = after(str_text(&many), own, NOW, &others);
    AUTO(mem) char *second = after(first, own, NOW, &others);

    CHECK(str_has_prefix(second, own));
    CHECK(strlen(second) <= 16 * strlen(own) + 256);
    CHECK(!ca_bundle_next(second, own, NOW, &others));
}

/* A configuration of one webhook that trusts `ca`. */
static cJSON *webhooks_with(const char *ca)
{
    AUTO(str) struct str encoded = {0};
    cJSON *webhooks = json_array();

    base64_encode(slice_of(ca), &encoded);
    cJSON *webhook = json_push_take(webhooks, json_object());
    json_put_str(webhook, "name", "one");
    json_put_str(json_put_object(webhook, "clientConfig"), "caBundle", str_text(&encoded));
    return webhooks;
}

TEST_F(cas, cas, others_go_with_the_configuration_that_names_them)
{
    AUTO(json) cJSON *webhooks = webhooks_with(cas->ab);
    struct ca_bundle_others others[CA_BUNDLE_WEBHOOKS_MAX] = {0};
    AUTO(json) cJSON *patch = ca_bundle_patch(webhooks, cas->a, NOW, others);

    CHECK(!patch->child);
    CHECK_INT_EQ(ca_bundle_next_expiry_ms(others, NOW), CA_BUNDLE_KEEP_OTHERS_S * 1000);
    CHECK_INT_EQ(ca_bundle_next_expiry_ms(others, NOW + CA_BUNDLE_KEEP_OTHERS_S - 2), 2000);
    CHECK_INT_EQ(ca_bundle_next_expiry_ms(others, NOW + 2 * CA_BUNDLE_KEEP_OTHERS_S),
                 1000); /* never at once, without end */
    AUTO(json) cJSON *of_none = ca_bundle_patch(NULL, cas->a, NOW + 1, others);
    CHECK(!of_none->child);
    CHECK_INT_EQ(ca_bundle_next_expiry_ms(others, NOW + 2 * CA_BUNDLE_KEEP_OTHERS_S), INT64_MAX);
}

TEST(a_webhook_is_identified_by_its_path_and_name)
{
    AUTO(mem) char *a = ca_of(NOW);
    AUTO(json) cJSON *webhooks = webhooks_with("");
    struct ca_bundle_others others[CA_BUNDLE_WEBHOOKS_MAX] = {0};
    AUTO(json) cJSON *patch = ca_bundle_patch(webhooks, a, NOW, others);
    AUTO(str) struct str told = {0};

    CHECK_INT_EQ(cJSON_GetArraySize(patch), 2);
    CHECK_STR_EQ(json_str(cJSON_GetArrayItem(patch, 0), "op", ""), "test");
    CHECK_STR_EQ(json_str(cJSON_GetArrayItem(patch, 0), "path", ""), "/webhooks/0/name");
    CHECK_STR_EQ(json_str(cJSON_GetArrayItem(patch, 0), "value", ""), "one");
    CHECK_STR_EQ(json_str(cJSON_GetArrayItem(patch, 1), "path", ""), "/webhooks/0/clientConfig/caBundle");
    CHECK(base64_decode(slice_of(json_str(cJSON_GetArrayItem(patch, 1), "value", "")), &told));
    CHECK_STR_EQ(str_text(&told), a);
}

TEST_F(cas, cas, cas_are_joined_whether_or_not_their_last_lines_end)
{
    AUTO(mem) char *cut = mem_strndup(cas->a, strlen(cas->a) - 1);
    const struct {
        const char *first, *second, *next;
    } rows[] = {
        {cas->a, cas->b, cas->ab}, {cut, cas->b, cas->ab}, {cut, NULL, cas->a}, {NULL, cas->b, cas->b}};

    CHECK_ROWS (row, rows) {
        struct ca_bundle_others others = {0};
        AUTO(mem) char *own = ca_bundle_join(row->first, row->second);
        AUTO(mem) char *next = ca_bundle_next("", own, NOW, &others);

        CHECK_STR_EQ(next, row->next);
    }
}
