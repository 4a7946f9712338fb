#include "operator/serve/certificates/certificate_secret.h"

#include "base/core/mem.h"
#include "operator/kube/auth/base64.h"

static char *decode(const cJSON *data, const char *key)
{
    AUTO(str) struct str text = {0};

    return base64_decode(slice_of(json_str(data, key, "")), &text) ? str_take(&text) : mem_strdup("");
}

bool certificate_secret_view(void *ctx, const cJSON *item, void **ret)
{
    struct certificate_secret *secret = NEW(struct certificate_secret);
    const cJSON *data = json_at(item, "data");

    (void)ctx;
    secret->resource_version = mem_strdup(json_str(item, "metadata/resourceVersion", ""));
    secret->certificate = (struct certificate){
        .ca = decode(data, "ca.crt"), .cert = decode(data, "tls.crt"), .key = decode(data, "tls.key")};
    *ret = secret;
    return true;
}

void certificate_secret_free(void *view)
{
    struct certificate_secret *secret = view;

    mem_free(secret->resource_version);
    certificate_release(&secret->certificate);
    mem_free(secret);
}

static void encode(cJSON *data, const char *key, const char *text)
{
    AUTO(str) struct str encoded = {0};

    base64_encode(slice_of(text), &encoded);
    json_put_str(data, key, str_text(&encoded));
}

cJSON *certificate_secret_body(const char *name, const struct certificate_secret *old,
                               const struct certificate *certificate)
{
    cJSON *body = json_object();
    cJSON *metadata = json_put_object(body, "metadata"), *data = json_put_object(body, "data");

    json_put_str(metadata, "name", name);
    json_put_str(metadata, "resourceVersion", old ? old->resource_version : NULL);
    encode(data, "ca.crt", certificate->ca);
    encode(data, "tls.crt", certificate->cert);
    encode(data, "tls.key", certificate->key);
    return body;
}
