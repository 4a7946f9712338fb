/* Tokens of pods, with keys that are made here: what a valid one says, and everything that makes one
 * invalid. */
#include "operator/progress/token.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/kube/auth/base64.h"

#define NOW ((int64_t)1800000000)
#define ISSUER "https://kubernetes.default.svc"
#define AUDIENCE "graphcore.ai/progress"
#define POD                                                                                                  \
    "\"kubernetes.io\":{\"namespace\":\"ml\",\"pod\":{\"name\":\"digits-worker-0\",\"uid\":\"u-1\"},"        \
    "\"serviceaccount\":{\"name\":\"default\",\"uid\":\"s\"}}"
#define CLAIMS                                                                                               \
    "{\"aud\":[\"other\",\"" AUDIENCE "\"],\"exp\":1800003600,\"iat\":1800000000,\"iss\":\"" ISSUER          \
    "\",\"nbf\":1800000000," POD ",\"sub\":\"system:serviceaccount:ml:default\"}"

struct issuer {
    EVP_PKEY *rsa, *ec, *other;
    struct token_keys *keys;
};

static void add_url(struct str *out, struct slice bytes)
{
    AUTO(str) struct str text = {0};

    base64_encode(bytes, &text);
    for (size_t i = 0; i < text.len && text.ptr[i] != '='; i++)
        str_addc(out, text.ptr[i] == '+' ? '-' : text.ptr[i] == '/' ? '_' : text.ptr[i]);
}

static void put_number(cJSON *jwk, const char *field, EVP_PKEY *key, const char *name, size_t width)
{
    BIGNUM *number = NULL;
    unsigned char bytes[1024];
    AUTO(str) struct str text = {0};

    CHECK(EVP_PKEY_get_bn_param(key, name, &number) == 1);
    int len = BN_bn2binpad(number, bytes, (int)(width ? width : (size_t)BN_num_bytes(number)));
    BN_free(number);
    add_url(&text, (struct slice){(const char *)bytes, (size_t)len});
    json_put_str(jwk, field, str_text(&text));
}

static cJSON *jwk_of(cJSON *list, const char *type, const char *id)
{
    cJSON *jwk = json_push_take(list, json_object());

    json_put_str(jwk, "use", "sig");
    json_put_str(jwk, "kty", type);
    json_put_str(jwk, "kid", id);
    return jwk;
}

static void issuer_init(struct issuer *issuer)
{
    AUTO(json) cJSON *jwks = json_object();
    cJSON *list = json_put_array(jwks, "keys"), *jwk;
    struct err err = {0};

    *issuer =
        (struct issuer){.rsa = EVP_RSA_gen(2048), .ec = EVP_EC_gen("P-256"), .other = EVP_RSA_gen(2048)};
    json_put_str(jwk_of(list, "OKP", "unknown kind"), "crv", "Ed25519");
    jwk = jwk_of(list, "RSA", "r");
    put_number(jwk, "n", issuer->rsa, OSSL_PKEY_PARAM_RSA_N, 0);
    put_number(jwk, "e", issuer->rsa, OSSL_PKEY_PARAM_RSA_E, 0);
    jwk = jwk_of(list, "EC", "e");
    json_put_str(jwk, "crv", "P-256");
    put_number(jwk, "x", issuer->ec, OSSL_PKEY_PARAM_EC_PUB_X, 32);
    put_number(jwk, "y", issuer->ec, OSSL_PKEY_PARAM_EC_PUB_Y, 32);
    issuer->keys = token_keys_new(jwks, &err);
    CHECK_OK(issuer->keys != NULL, err);
}

static void issuer_release(struct issuer *issuer)
{
    token_keys_free(issuer->keys);
    EVP_PKEY_free(issuer->rsa);
    EVP_PKEY_free(issuer->ec);
    EVP_PKEY_free(issuer->other);
}

/* r and s one after the other, as in a JWT. */
static size_t to_jws(unsigned char *bytes, size_t len)
{
    const unsigned char *at = bytes;
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &at, (long)len);

    CHECK(pair != NULL);
    unsigned char flat[64];
    BN_bn2binpad(ECDSA_SIG_get0_r(pair), flat, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(pair), flat + 32, 32);
    ECDSA_SIG_free(pair);
    memcpy(bytes, flat, sizeof(flat));
    return sizeof(flat);
}

static char *sign(EVP_PKEY *key, const char *header, const char *claims)
{
    struct str token = {0};
    unsigned char signature[1024];
    size_t len = sizeof(signature);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();

    add_url(&token, slice_of(header));
    str_addc(&token, '.');
    add_url(&token, slice_of(claims));
    CHECK(EVP_DigestSignInit_ex(ctx, NULL, "SHA256", NULL, NULL, key, NULL) == 1);
    CHECK(EVP_DigestSign(ctx, signature, &len, (const unsigned char *)token.ptr, token.len) == 1);
    EVP_MD_CTX_free(ctx);
    if (EVP_PKEY_is_a(key, "EC"))
        len = to_jws(signature, len);
    str_addc(&token, '.');
    add_url(&token, (struct slice){(const char *)signature, len});
    return str_take(&token);
}

#define RSA_HEADER "{\"alg\":\"RS256\",\"kid\":\"r\"}"
#define EC_HEADER "{\"alg\":\"ES256\",\"kid\":\"e\"}"

static void check_rejected(const struct issuer *issuer, const char *token, enum err_kind kind,
                           const char *message)
{
    struct token_pod pod = {0};
    struct err err = {0};

    CHECK_ERR(token_verify(issuer->keys, token, AUDIENCE, NOW, &pod, &err), err, kind);
    CHECK_STR_EQ(err.msg, message);
    CHECK(!pod.uid);
}

TEST_F(issuer, issuer, a_token_names_its_pod)
{
    AUTO(mem) char *rsa = sign(issuer->rsa, RSA_HEADER, CLAIMS);
    AUTO(mem) char *ec = sign(issuer->ec, EC_HEADER, CLAIMS);
    const char *const rows[] = {rsa, ec};

    CHECK_ROWS (row, rows) {
        AUTO(token_pod) struct token_pod pod = {0};
        struct err err = {0};

        CHECK_OK(token_verify(issuer->keys, *row, AUDIENCE, NOW, &pod, &err), err);
        CHECK_STR_EQ(pod.ns, "ml");
        CHECK_STR_EQ(pod.name, "digits-worker-0");
        CHECK_STR_EQ(pod.uid, "u-1");
    }
}

TEST_F(issuer, issuer, a_forged_token_is_rejected)
{
    AUTO(mem) char *other = sign(issuer->other, RSA_HEADER, CLAIMS);
    AUTO(mem) char *changed = sign(issuer->rsa, RSA_HEADER, CLAIMS);
    AUTO(mem) char *mixed = sign(issuer->rsa, "{\"alg\":\"RS256\",\"kid\":\"e\"}", CLAIMS);
    AUTO(mem) char *short_one = sign(issuer->rsa, EC_HEADER, CLAIMS);
    AUTO(mem) char *rotated = sign(issuer->other, "{\"alg\":\"RS256\",\"kid\":\"new\"}", CLAIMS);
    char *claim = strchr(changed, '.') + 10;

    *claim = *claim == 'A' ? 'B' : 'A';
    check_rejected(issuer, other, ERR_DENIED, "the token's signature is wrong");
    check_rejected(issuer, changed, ERR_DENIED, "the token's signature is wrong");
    check_rejected(issuer, mixed, ERR_NOT_FOUND, "the token is signed with an unknown key");
    check_rejected(issuer, rotated, ERR_NOT_FOUND, "the token is signed with an unknown key");
    check_rejected(issuer, short_one, ERR_DENIED, "the token is not a signed JWT");
}

TEST_F(issuer, issuer, a_token_without_a_signature_is_rejected)
{
    static const char *const headers[] = {"{\"alg\":\"none\",\"kid\":\"r\"}",
                                          "{\"alg\":\"HS256\",\"kid\":\"r\"}",
                                          "{\"kid\":\"r\"}",
                                          "{}",
                                          "[]",
                                          ""};

    CHECK_ROWS (header, headers) {
        AUTO(mem) char *token = sign(issuer->rsa, *header, CLAIMS);

        check_rejected(issuer, token, ERR_DENIED, "the token is not a signed JWT");
        *strrchr(token, '.') = '\0';
        check_rejected(issuer, token, ERR_DENIED, "the token is not a signed JWT");
    }
}

TEST_F(issuer, issuer, no_text_harms)
{
    AUTO(mem) char *token = sign(issuer->rsa, RSA_HEADER, CLAIMS);
    AUTO(mem) char *twice = mem_printf("%s.%s", token, token);
    AUTO(mem) char *bare = mem_strdup(token);
    struct str longest = {0};

    strrchr(bare, '.')[1] = '\0';
    while (longest.len <= TOKEN_MAX_BYTES)
        str_adds(&longest, "e30");
    str_adds(&longest, ".e30.e30");
    const char *const rows[] = {"",
                                ".",
                                "..",
                                "...",
                                "e30.e30.e30",
                                "\xff.\xff.\xff",
                                "a b.c d.e f",
                                twice,
                                bare,
                                str_text(&longest)};
    CHECK_ROWS (row, rows)
        check_rejected(issuer, *row, ERR_DENIED, "the token is not a signed JWT");
    str_release(&longest);
}

TEST_F(issuer, issuer, every_claim_counts)
{
    static const struct {
        const char *claims, *message;
    } rows[] = {
        {"{\"aud\":\"api\",\"exp\":1800003600,\"iss\":\"" ISSUER "\"," POD "}",
         "the token is for another audience"},
        {"{\"exp\":1800003600,\"iss\":\"" ISSUER "\"," POD "}", "the token is for another audience"},
        {"{\"aud\":\"" AUDIENCE "\",\"exp\":1799999940,\"iss\":\"" ISSUER "\"," POD "}",
         "the token has expired"},
        {"{\"aud\":\"" AUDIENCE "\",\"iss\":\"" ISSUER "\"," POD "}", "the token has expired"},
        {"{\"aud\":\"" AUDIENCE "\",\"exp\":\"1800003600\",\"iss\":\"" ISSUER "\"," POD "}",
         "the token has expired"},
        {"{\"aud\":\"" AUDIENCE "\",\"exp\":1800003600,\"nbf\":1800000061,\"iss\":\"" ISSUER "\"," POD "}",
         "the token is not valid yet"},
        {"{\"aud\":\"" AUDIENCE "\",\"exp\":1800003600,\"iss\":\"" ISSUER
         "\",\"kubernetes.io\":{\"namespace\":\"ml\",\"serviceaccount\":{\"name\":\"a\"}}}",
         "the token is not bound to a pod"},
        {"[]", "the token is for another audience"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *token = sign(issuer->rsa, RSA_HEADER, row->claims);

        check_rejected(issuer, token, ERR_DENIED, row->message);
    }
}

TEST_F(issuer, issuer, clocks_may_differ_a_little)
{
    AUTO(mem)
    char *token = sign(issuer->rsa, RSA_HEADER,
                       "{\"aud\":\"" AUDIENCE "\",\"exp\":1799999941,\"nbf\":1800000060,\"iss\":\"" ISSUER
                       "\"," POD "}");
    AUTO(token_pod) struct token_pod pod = {0};
    struct err err = {0};

    CHECK_OK(token_verify(issuer->keys, token, AUDIENCE, NOW, &pod, &err), err);
}

TEST(a_list_without_usable_keys_is_an_error)
{
    static const char *const rows[] = {
        "{}",
        "{\"keys\":{}}",
        "{\"keys\":[]}",
        "{\"keys\":[7,{\"kty\":\"RSA\"},{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"},{\"kty\":\"EC\","
        "\"crv\":"
        "\"P-256\",\"x\":\"AQAB\",\"y\":\"AQAB\"},{\"kty\":\"EC\",\"crv\":\"P-999\"}]}",
    };

    CHECK_ROWS (row, rows) {
        struct err err = {0};
        AUTO(json) cJSON *jwks = json_parse(slice_of(*row), &err);

        CHECK_ERR(token_keys_new(jwks, &err) != NULL, err, ERR_INVALID);
    }
}
