#include "operator/progress/token.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/kube/auth/base64.h"

/* RFC 7518. RSASSA-PSS and HMAC are not used by API servers. */
static const struct algorithm {
    const char *name, *digest;
    const char *group; /* OpenSSL's name of the curve; NULL: RSA */
    const char *curve; /* the standard's */
    int number_bytes;
} ALGORITHMS[] = {
    {"RS256", "SHA256", NULL, NULL, 0},        {"RS384", "SHA384", NULL, NULL, 0},
    {"RS512", "SHA512", NULL, NULL, 0},        {"ES256", "SHA256", "P-256", "P-256", 32},
    {"ES384", "SHA384", "P-384", "P-384", 48}, {"ES512", "SHA512", "P-521", "P-521", 66},
};

struct token_keys {
    struct token_key {
        char *id;
        const char *group; /* as in ALGORITHMS */
        EVP_PKEY *key;
    } keys[TOKEN_KEYS_MAX];
    size_t count;
};

/* ---- text ---- */

/* base64url without padding (RFC 7515), read as the base64 that the same bytes have. */
static bool decode(struct slice text, struct str *ret)
{
    AUTO(str) struct str standard = {0};

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
              c == '_'))
            return false;
        str_addc(&standard, c == '-' ? '+' : c == '_' ? '/' : c);
    }
    while (standard.len % 4)
        str_addc(&standard, '=');
    return base64_decode(str_slice(&standard), ret);
}

static cJSON *decode_json(struct slice text)
{
    AUTO(str) struct str plain = {0};
    struct err ignored = {0};
    cJSON *json = decode(text, &plain) ? json_parse(str_slice(&plain), &ignored) : NULL;

    return json;
}

struct parts {
    struct slice header, claims, signature;
    struct slice is_signed; /* header and claims */
};

static bool split(const char *token, struct parts *ret)
{
    const char *claims = strchr(token, '.'), *signature = claims ? strchr(claims + 1, '.') : NULL;

    if (!signature || strchr(signature + 1, '.') || strlen(token) > TOKEN_MAX_BYTES)
        return false;
    *ret = (struct parts){
        .header = {token, (size_t)(claims - token)},
        .claims = {claims + 1, (size_t)(signature - claims - 1)},
        .signature = slice_of(signature + 1),
        .is_signed = {token, (size_t)(signature - token)},
    };
    return true;
}

/* ---- keys ---- */

static BIGNUM *read_number(const cJSON *key, const char *field)
{
    AUTO(str) struct str bytes = {0};

    return decode(slice_of(json_str(key, field, "")), &bytes) && bytes.len
               ? BN_bin2bn((const unsigned char *)bytes.ptr, (int)bytes.len, NULL)
               : NULL;
}

static EVP_PKEY *build_key(const char *type, OSSL_PARAM_BLD *builder)
{
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *key = NULL;

    if (params && ctx && EVP_PKEY_fromdata_init(ctx) == 1)
        (void)EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params);
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    return key;
}

static EVP_PKEY *rsa_key(const cJSON *jwk)
{
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    BIGNUM *n = read_number(jwk, "n"), *e = read_number(jwk, "e");
    EVP_PKEY *key = NULL;

    if (builder && n && e && BN_num_bits(n) >= 2048 && BN_num_bits(n) <= 8192 && BN_num_bits(e) <= 64 &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e))
        key = build_key("RSA", builder);
    BN_free(n);
    BN_free(e);
    OSSL_PARAM_BLD_free(builder);
    return key;
}

static EVP_PKEY *ec_key(const cJSON *jwk, const struct algorithm *algorithm)
{
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    AUTO(str) struct str point = {0};
    AUTO(str) struct str y = {0};
    size_t bytes = (size_t)algorithm->number_bytes;
    EVP_PKEY *key = NULL;

    str_addc(&point, POINT_CONVERSION_UNCOMPRESSED);
    if (builder && decode(slice_of(json_str(jwk, "x", "")), &point) && point.len == 1 + bytes &&
        decode(slice_of(json_str(jwk, "y", "")), &y) && y.len == bytes && str_add(&point, y.ptr, y.len) &&
        OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, algorithm->group, 0) &&
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point.ptr, point.len))
        key = build_key("EC", builder);
    OSSL_PARAM_BLD_free(builder);
    return key;
}

static const struct algorithm *find_curve(const char *curve)
{
    for (size_t i = 0; i < COUNT_OF(ALGORITHMS); i++) {
        if (ALGORITHMS[i].curve && str_eq(ALGORITHMS[i].curve, curve))
            return &ALGORITHMS[i];
    }
    return NULL;
}

static void add_key(struct token_keys *keys, const cJSON *jwk)
{
    const char *type = json_str(jwk, "kty", "");
    const struct algorithm *curve = find_curve(json_str(jwk, "crv", ""));
    EVP_PKEY *key = str_eq(type, "RSA")           ? rsa_key(jwk)
                    : str_eq(type, "EC") && curve ? ec_key(jwk, curve)
                                                  : NULL;

    if (key)
        keys->keys[keys->count++] = (struct token_key){.id = mem_strdup(json_str(jwk, "kid", "")),
                                                       .group = str_eq(type, "RSA") ? NULL : curve->group,
                                                       .key = key};
    ERR_clear_error();
}

struct token_keys *token_keys_new(const cJSON *jwks, struct err *err)
{
    const cJSON *list = json_at(jwks, "keys");
    struct token_keys *keys = NEW(struct token_keys);

    JSON_EACH (jwk, cJSON_IsArray(list) ? list : NULL) {
        if (keys->count < TOKEN_KEYS_MAX)
            add_key(keys, jwk);
    }
    if (keys->count)
        return keys;
    token_keys_free(keys);
    err_set(err, ERR_INVALID, "the API server's list of keys has no RSA key and no EC key");
    return NULL;
}

void token_keys_free(struct token_keys *keys)
{
    for (size_t i = 0; keys && i < keys->count; i++) {
        mem_free(keys->keys[i].id);
        EVP_PKEY_free(keys->keys[i].key);
    }
    mem_free(keys);
}

/* ---- signatures ---- */

/* JWS has r and s one after the other, OpenSSL a DER structure. */
static bool to_der(const struct algorithm *algorithm, struct str *signature)
{
    size_t bytes = (size_t)algorithm->number_bytes;
    const unsigned char *raw = (const unsigned char *)str_text(signature);
    unsigned char *der = NULL;
    ECDSA_SIG *pair;
    int len = 0;

    if (signature->len != 2 * bytes)
        return false;
    pair = ECDSA_SIG_new();
    if (pair &&
        ECDSA_SIG_set0(pair, BN_bin2bn(raw, (int)bytes, NULL), BN_bin2bn(raw + bytes, (int)bytes, NULL)))
        len = i2d_ECDSA_SIG(pair, &der);
    ECDSA_SIG_free(pair);
    str_clear(signature);
    if (len > 0)
        str_add(signature, der, (size_t)len);
    OPENSSL_free(der);
    return len > 0;
}

static bool has_signed(EVP_PKEY *key, const struct algorithm *algorithm, struct slice text,
                       const struct str *signature)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool is_good = ctx && EVP_DigestVerifyInit_ex(ctx, NULL, algorithm->digest, NULL, NULL, key, NULL) == 1 &&
                   EVP_DigestVerify(ctx, (const unsigned char *)signature->ptr, signature->len,
                                    (const unsigned char *)text.ptr, text.len) == 1;

    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    return is_good;
}

/* The algorithm must be one for that kind of key, whatever the header says. */
static bool check_signature(const struct token_keys *keys, const struct parts *parts, struct err *err)
{
    AUTO(json) cJSON *header = decode_json(parts->header);
    AUTO(str) struct str signature = {0};
    const struct algorithm *algorithm = NULL;
    const char *id = json_str(header, "kid", "");
    bool is_known = false;

    for (size_t i = 0; i < COUNT_OF(ALGORITHMS); i++) {
        if (str_eq(json_str(header, "alg", NULL), ALGORITHMS[i].name))
            algorithm = &ALGORITHMS[i];
    }
    if (!algorithm || !decode(parts->signature, &signature) || !signature.len ||
        (algorithm->group && !to_der(algorithm, &signature)))
        return err_set(err, ERR_DENIED, "the token is not a signed JWT");
    for (size_t i = 0; i < keys->count; i++) {
        const struct token_key *key = &keys->keys[i];

        if (!str_eq(key->group, algorithm->group) || !str_eq(key->id, id))
            continue;
        if (has_signed(key->key, algorithm, parts->is_signed, &signature))
            return true;
        is_known = true;
    }
    if (is_known)
        return err_set(err, ERR_DENIED, "the token's signature is wrong");
    return err_set(err, ERR_NOT_FOUND, "the token is signed with an unknown key");
}

/* ---- claims ---- */

static bool has_audience(const cJSON *claims, const char *audience)
{
    const cJSON *list = json_at(claims, "aud");

    if (str_eq(json_str(claims, "aud", NULL), audience))
        return true;
    JSON_EACH (item, cJSON_IsArray(list) ? list : NULL) {
        if (cJSON_IsString(item) && str_eq(item->valuestring, audience))
            return true;
    }
    return false;
}

static bool check_claims(const cJSON *claims, const char *audience, int64_t now_s, struct err *err)
{
    if (!has_audience(claims, audience))
        return err_set(err, ERR_DENIED, "the token is for another audience");
    if (now_s - TOKEN_SKEW_S >= json_i64(claims, "exp", INT64_MIN / 2))
        return err_set(err, ERR_DENIED, "the token has expired");
    if (now_s + TOKEN_SKEW_S < json_i64(claims, "nbf", INT64_MIN / 2))
        return err_set(err, ERR_DENIED, "the token is not valid yet");
    return true;
}

bool token_verify(const struct token_keys *keys, const char *token, const char *audience, int64_t now_s,
                  struct token_pod *ret, struct err *err)
{
    struct parts parts;
    const char *ns, *name, *uid;

    if (!split(token, &parts))
        return err_set(err, ERR_DENIED, "the token is not a signed JWT");
    if (!check_signature(keys, &parts, err))
        return false;
    AUTO(json) cJSON *claims = decode_json(parts.claims);
    if (!check_claims(claims, audience, now_s, err))
        return false;
    const cJSON *bound = cJSON_GetObjectItemCaseSensitive(claims, "kubernetes.io");
    ns = json_str(bound, "namespace", NULL);
    name = json_str(bound, "pod/name", NULL);
    uid = json_str(bound, "pod/uid", NULL);
    if (!ns || !name || !uid)
        return err_set(err, ERR_DENIED, "the token is not bound to a pod");
    *ret = (struct token_pod){mem_strdup(ns), mem_strdup(name), mem_strdup(uid)};
    return true;
}

void token_pod_release(struct token_pod *pod)
{
    mem_free(pod->ns);
    mem_free(pod->name);
    mem_free(pod->uid);
    *pod = (struct token_pod){0};
}
