#include "operator/serve/metrics/authz.h"

#include <assert.h>
#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

#include "base/core/mem.h"
#include "base/core/str.h"

const char *authz_bearer_token(const char *authorization)
{
    static const char scheme[] = "Bearer ";

    if (strncasecmp(authorization, scheme, strlen(scheme)) != 0)
        return NULL;
    authorization += strlen(scheme);
    authorization += strspn(authorization, " ");
    return *authorization ? authorization : NULL;
}

static cJSON *review(const char *api_version, const char *kind)
{
    cJSON *out = json_object();

    json_put_str(out, "apiVersion", api_version);
    json_put_str(out, "kind", kind);
    return out;
}

cJSON *authz_token_review(const char *token)
{
    cJSON *out = review("authentication.k8s.io/v1", "TokenReview");

    json_put_str(json_put_object(out, "spec"), "token", token);
    return out;
}

const cJSON *authz_user(const cJSON *answer)
{
    const cJSON *user = json_at(answer, "status/user");

    return json_bool(answer, "status/authenticated", false) && json_str(user, "username", NULL) ? user : NULL;
}

static void copy(cJSON *to, const char *as, const cJSON *user, const char *field)
{
    const cJSON *item = json_at(user, field);

    if (item)
        json_put_take(to, as, json_dup(item));
}

static cJSON *review_of_user(const cJSON *user, const char *attributes, cJSON **ret_asked)
{
    cJSON *out = review("authorization.k8s.io/v1", "SubjectAccessReview");
    cJSON *spec = json_put_object(out, "spec");

    *ret_asked = json_put_object(spec, attributes);
    copy(spec, "user", user, "username");
    copy(spec, "uid", user, "uid");
    copy(spec, "groups", user, "groups");
    copy(spec, "extra", user, "extra");
    return out;
}

cJSON *authz_subject_review(const cJSON *user, const char *path)
{
    cJSON *asked, *out = review_of_user(user, "nonResourceAttributes", &asked);

    json_put_str(asked, "path", path);
    json_put_str(asked, "verb", "get");
    return out;
}

cJSON *authz_list_review(const cJSON *user, const struct kube_resource *resource, const char *ns)
{
    cJSON *asked, *out = review_of_user(user, "resourceAttributes", &asked);

    json_put_str(asked, "group", resource->group);
    json_put_str(asked, "resource", resource->plural);
    json_put_str(asked, "namespace", ns);
    json_put_str(asked, "verb", "list");
    return out;
}

bool authz_is_allowed(const cJSON *answer)
{
    return json_bool(answer, "status/allowed", false);
}

struct authz_digest authz_digest(const char *token, const char *path)
{
    char *text = mem_printf("%s %s", path, token);
    struct authz_digest digest = {0};

    int made = EVP_Digest(text, strlen(text), digest.bytes, NULL, EVP_sha256(), NULL);

    assert(made); /* or all tokens would look the same */
    (void)made;
    mem_free_secret(text);
    return digest;
}

enum authz_verdict authz_cache_get(const struct authz_cache *memory, const struct authz_digest *digest,
                                   int64_t now_ms)
{
    for (size_t i = 0; i < AUTHZ_CACHE_SIZE; i++) {
        const struct authz_cache_entry *kept = &memory->kept[i];

        if (now_ms < kept->until_ms && memcmp(&kept->digest, digest, sizeof(*digest)) == 0)
            return kept->verdict;
    }
    return AUTHZ_UNKNOWN;
}

void authz_cache_put(struct authz_cache *memory, const struct authz_digest *digest,
                     enum authz_verdict verdict, int64_t now_ms)
{
    struct authz_cache_entry *slot = &memory->kept[0];

    for (size_t i = 0; i < AUTHZ_CACHE_SIZE; i++) {
        struct authz_cache_entry *kept = &memory->kept[i];

        if (memcmp(&kept->digest, digest, sizeof(*digest)) == 0) {
            slot = kept;
            break;
        }
        if (kept->until_ms < slot->until_ms)
            slot = kept;
    }
    *slot = (struct authz_cache_entry){
        .digest = *digest,
        .verdict = verdict,
        .until_ms = now_ms + (verdict == AUTHZ_ALLOWED ? AUTHZ_ALLOWED_TTL_MS : AUTHZ_DENIED_TTL_MS)};
}
