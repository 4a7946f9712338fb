#include "operator/kube/client/status.h"

#include <string.h>

#include "lib/check.h"

DEFINE_AUTO(kube_status);

static cJSON *parse(const char *text)
{
    struct err err;
    cJSON *doc = json_parse(slice_of(text), &err);

    CHECK(doc != NULL);
    return doc;
}

TEST(the_http_status_gives_the_kind)
{
    static const struct {
        int http;
        const char *reason;
        enum err_kind want;
    } rows[] = {
        {400, "BadRequest", ERR_INVALID},
        {401, "Unauthorized", ERR_DENIED},
        {403, "Forbidden", ERR_DENIED},
        {404, "NotFound", ERR_NOT_FOUND},
        {405, "", ERR_INVALID},
        {408, "", ERR_TIMEOUT},
        {409, "AlreadyExists", ERR_EXISTS},
        {409, "Conflict", ERR_CONFLICT},
        {409, "", ERR_CONFLICT},
        {410, "Expired", ERR_GONE},
        {413, "", ERR_INVALID},
        {422, "Invalid", ERR_INVALID},
        {429, "TooManyRequests", ERR_BUSY},
        {500, "InternalError", ERR_IO},
        {503, "", ERR_BUSY},
        {504, "Timeout", ERR_TIMEOUT},
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *body = json_object();
        AUTO(kube_status) struct kube_status status = {0};

        json_put_str(body, "reason", row->reason);
        kube_status_read(row->http, body, -1, &status);
        CHECK_INT_EQ(status.err.kind, row->want);
        CHECK_INT_EQ(status.err.code, row->http);
        CHECK_STR_EQ(status.reason, row->reason);
    }
}

TEST(an_answer_without_a_message_gets_one)
{
    static const struct {
        int http;
        const char *want;
    } rows[] = {
        {404, "the API server does not have this resource (status 404); is its CustomResourceDefinition "
              "installed?"},
        {502, "the API server responded with status 502 and no message"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(kube_status) struct kube_status status = {0};

        kube_status_read(row->http, NULL, -1, &status);
        CHECK_STR_EQ(status.message, row->want);
    }
}

TEST(every_cause_reaches_the_message)
{
    AUTO(json)
    cJSON *body = parse("{\"reason\":\"Invalid\",\"message\":\"Pod \\\"p\\\" is invalid: Required value\","
                        "\"details\":{\"causes\":["
                        "{\"field\":\"spec.containers[0].image\",\"message\":\"Required value\"},"
                        "{\"field\":\"spec.nodeName\",\"message\":\"must be short\"}]}}");
    AUTO(kube_status) struct kube_status status = {0};

    kube_status_read(422, body, -1, &status);
    CHECK_STR_EQ(status.message, "Pod \"p\" is invalid: Required value; spec.nodeName: must be short");
}

TEST(a_message_without_end_is_cut)
{
    AUTO(json) cJSON *body = json_object();
    AUTO(mem) char *text = mem_alloc(100001);
    AUTO(kube_status) struct kube_status status = {0};

    memset(text, 'x', 100000);
    json_put_str(body, "message", text);
    kube_status_read(422, body, -1, &status);
    CHECK(strlen(status.message) <= KUBE_MESSAGE_MAX_BYTES);
    CHECK(strlen(status.message) > 1000);
}

TEST(denials_are_distinguished)
{
    static const struct {
        int http;
        const char *text;
        enum kube_denial want;
    } rows[] = {
        {403, "{\"message\":\"pods \\\"a\\\" is forbidden: exceeded quota: q, requested: pods=1\"}",
         KUBE_DENIAL_QUOTA},
        {403,
         "{\"message\":\"pods \\\"a\\\" is forbidden: violates PodSecurity \\\"restricted:latest\\\": host "
         "namespaces\"}",
         KUBE_DENIAL_POD_SECURITY},
        {403, "{\"message\":\"unable to create new content in namespace n because it is being terminated\"}",
         KUBE_DENIAL_NAMESPACE_TERMINATING},
        {403, "{\"message\":\"forbidden\",\"details\":{\"causes\":[{\"reason\":\"NamespaceTerminating\"}]}}",
         KUBE_DENIAL_NAMESPACE_TERMINATING},
        {403, "{\"message\":\"User u cannot create pods\"}", KUBE_DENIAL_RULES},
        {422,
         "{\"message\":\"pods \\\"a\\\" is forbidden: ValidatingAdmissionPolicy 'x' with binding 'y' denied "
         "request: no team\"}",
         KUBE_DENIAL_RULES},
        {400, "{\"message\":\"admission webhook \\\"x.io\\\" denied the request: no team\"}",
         KUBE_DENIAL_RULES},
        {500, "{\"message\":\"admission webhook \\\"x.io\\\" denied the request without explanation\"}",
         KUBE_DENIAL_RULES},
        {422, "{\"message\":\"Pod \\\"a\\\" is invalid: spec.nodeName: denied the request\"}",
         KUBE_DENIAL_NONE},
        {401, "{}", KUBE_DENIAL_CREDENTIALS},
        {404, "{}", KUBE_DENIAL_NONE},
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *body = parse(row->text);
        AUTO(kube_status) struct kube_status status = {0};

        kube_status_read(row->http, body, -1, &status);
        CHECK_INT_EQ(status.denial, row->want);
        CHECK_INT_EQ(status.err.kind == ERR_DENIED, row->want != KUBE_DENIAL_NONE);
    }
}

TEST(patience_comes_from_the_header_or_the_body)
{
    AUTO(json) cJSON *body = parse("{\"details\":{\"retryAfterSeconds\":7}}");
    AUTO(kube_status) struct kube_status status = {0};

    kube_status_read(429, body, -1, &status);
    CHECK_INT_EQ(status.retry_after_ms, 7000);
    kube_status_release(&status);
    kube_status_read(429, body, 2000, &status);
    CHECK_INT_EQ(status.retry_after_ms, 2000);
    kube_status_release(&status);
    kube_status_read(429, NULL, -1, &status);
    CHECK_INT_EQ(status.retry_after_ms, -1);
    CHECK_HAS(status.message, "status 429");
}

TEST(a_status_in_a_stream_says_its_code)
{
    static const struct {
        const char *text;
        int want;
    } rows[] = {
        {"{\"code\":410}", 410},
        {"{\"reason\":\"Expired\"}", 410},
        {"{\"code\":429}", 429},
        {"{\"code\":200}", 500},
        {"{}", 500},
        {"{\"code\":99999999}", 500},
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *body = parse(row->text);

        CHECK_INT_EQ(kube_status_code(body), row->want);
    }
}
