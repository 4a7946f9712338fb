#include "operator/serve/certificates/ca_bundle.h"

#include <openssl/x509.h>

#include "base/core/mem.h"
#include "base/io/pem.h"
#include "operator/kube/auth/base64.h"

enum { CAS_MAX = 16, PEM_MAX = 64 * 1024 };

struct cas {
    X509 *items[CAS_MAX];
    size_t count;
};

static void cas_auto(struct cas *cas)
{
    for (size_t i = 0; i < cas->count; i++)
        X509_free(cas->items[i]);
}

static bool cas_have(const struct cas *cas, const X509 *ca)
{
    for (size_t i = 0; i < cas->count; i++) {
        if (X509_cmp(cas->items[i], ca) == 0)
            return true;
    }
    return false;
}

/* Those that live, each once. */
static void cas_read(const char *pem, int64_t now_s, struct cas *ret)
{
    BIO *bio = pem_open(pem, PEM_MAX);
    X509 *ca;

    while (ret->count < CAS_MAX && (ca = pem_next_certificate(bio))) {
        if (pem_has_ended(ca, now_s) || cas_have(ret, ca))
            X509_free(ca);
        else
            ret->items[ret->count++] = ca;
    }
    BIO_free(bio);
}

/* `but` NULL: all of them. */
static void cas_print(const struct cas *cas, const struct cas *but, struct str *out)
{
    for (size_t i = 0; i < cas->count; i++) {
        if (!but || !cas_have(but, cas->items[i]))
            pem_add_certificate(out, cas->items[i]);
    }
}

static bool cas_have_all(const struct cas *cas, const struct cas *wanted)
{
    for (size_t i = 0; i < wanted->count; i++) {
        if (!cas_have(cas, wanted->items[i]))
            return false;
    }
    return true;
}

static void note_others(const struct str *text, int64_t now_s, struct ca_bundle_others *others)
{
    uint64_t hash = str_hash(str_text(text));

    if (!text->len)
        *others = (struct ca_bundle_others){0};
    else if (!others->since_s || others->hash != hash)
        *others = (struct ca_bundle_others){.hash = hash, .since_s = now_s};
}

char *ca_bundle_next(const char *now_there, const char *own, int64_t now_s, struct ca_bundle_others *others)
{
    AUTO(cas) struct cas there = {0};
    AUTO(cas) struct cas ours = {0};
    AUTO(str) struct str there_text = {0}, others_text = {0};
    struct str next = {0};
    bool drop_others;

    cas_read(now_there, now_s, &there);
    cas_read(own, now_s, &ours);
    cas_print(&there, NULL, &there_text);
    cas_print(&there, &ours, &others_text);
    note_others(&others_text, now_s, others);
    drop_others = others->since_s && now_s >= others->since_s + CA_BUNDLE_KEEP_OTHERS_S;
    if (ours.count == 0 || (!drop_others && cas_have_all(&there, &ours) &&
                            str_eq(str_text(&there_text), now_there ? now_there : "")))
        return NULL;
    cas_print(&ours, NULL, &next);
    if (!drop_others)
        (void)str_adds(&next, str_text(&others_text));
    return str_take(&next);
}

static void add_step(cJSON *patch, const char *op, int index, const char *field, const char *value)
{
    cJSON *step = json_push_take(patch, json_object());

    json_put_str(step, "op", op);
    json_put_strf(step, "path", "/webhooks/%d/%s", index, field);
    json_put_str(step, "value", value);
}

static void add_steps(cJSON *patch, int index, const cJSON *webhook, const char *own, int64_t now_s,
                      struct ca_bundle_others *others)
{
    AUTO(str) struct str now_there = {0}, encoded = {0};
    AUTO(mem) char *next = NULL;

    (void)base64_decode(slice_of(json_str(webhook, "clientConfig/caBundle", "")), &now_there);
    next = ca_bundle_next(str_text(&now_there), own, now_s, others);
    if (!next)
        return;
    base64_encode(slice_of(next), &encoded);
    add_step(patch, "test", index, "name", json_str(webhook, "name", ""));
    add_step(patch, "add", index, "clientConfig/caBundle", str_text(&encoded));
}

cJSON *ca_bundle_patch(const cJSON *webhooks, const char *own, int64_t now_s,
                       struct ca_bundle_others others[CA_BUNDLE_WEBHOOKS_MAX])
{
    cJSON *patch = json_array();
    int index = 0;

    JSON_EACH (webhook, webhooks) {
        if (index < CA_BUNDLE_WEBHOOKS_MAX)
            add_steps(patch, index, webhook, own, now_s, &others[index]);
        index++;
    }
    /* A removed webhook has no CAs of others: waiting for their expiry would never end. */
    for (; index < CA_BUNDLE_WEBHOOKS_MAX; index++)
        others[index] = (struct ca_bundle_others){0};
    return patch;
}

int64_t ca_bundle_next_expiry_ms(const struct ca_bundle_others others[CA_BUNDLE_WEBHOOKS_MAX], int64_t now_s)
{
    int64_t next_ms = INT64_MAX;

    for (size_t i = 0; i < CA_BUNDLE_WEBHOOKS_MAX; i++) {
        int64_t left_ms = (others[i].since_s + CA_BUNDLE_KEEP_OTHERS_S - now_s) * 1000;

        if (others[i].since_s && left_ms < next_ms)
            next_ms = left_ms;
    }
    return next_ms < 1000 ? 1000 : next_ms;
}

char *ca_bundle_join(const char *first, const char *second)
{
    return mem_printf("%s\n%s", first ? first : "", second ? second : "");
}
