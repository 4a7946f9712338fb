/* Who may read a page. */
#include "operator/serve/metrics/authz.h"

#include "base/core/mem.h"
#include "base/core/str.h"
#include "lib/check.h"

static cJSON *parse(const char *text)
{
    struct err err = {0};
    cJSON *json = json_parse(slice_of(text), &err);

    CHECK_OK(json, err);
    return json;
}

TEST(a_token_stands_behind_the_word_bearer)
{
    CHECK_STR_EQ(authz_bearer_token("Bearer abc.def"), "abc.def");
    CHECK_STR_EQ(authz_bearer_token("bearer  abc"), "abc");
    CHECK(!authz_bearer_token(""));
    CHECK(!authz_bearer_token("Bearer "));
    CHECK(!authz_bearer_token("Bearer"));
    CHECK(!authz_bearer_token("Basic dXNlcjpwYXNz"));
}

TEST(the_token_is_asked_about_and_then_its_user)
{
    AUTO(json) cJSON *token = authz_token_review("t");
    AUTO(json)
    cJSON *known =
        parse("{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"prometheus\",\"uid\":\"7\","
              "\"groups\":[\"g\"],\"extra\":{\"k\":[\"v\"]}}}}");
    AUTO(json) cJSON *subject = authz_subject_review(authz_user(known), "/metrics");
    AUTO(mem) char *asked = json_print(token);
    AUTO(mem) char *then = json_print(subject);

    CHECK_STR_EQ(asked, "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenReview\",\"spec\":{"
                        "\"token\":\"t\"}}");
    CHECK_STR_EQ(then,
                 "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\",\"spec\":{"
                 "\"nonResourceAttributes\":{\"path\":\"/metrics\",\"verb\":\"get\"},\"user\":\"prometheus\","
                 "\"uid\":\"7\",\"groups\":[\"g\"],\"extra\":{\"k\":[\"v\"]}}}");
}

TEST(only_a_clear_yes_counts)
{
    static const char *const nobody[] = {
        "{}",
        "{\"status\":{}}",
        "{\"status\":{\"authenticated\":false,\"user\":{\"username\":\"x\"}}}",
        "{\"status\":{\"user\":{\"username\":\"x\"}}}",
        "{\"status\":{\"authenticated\":true,\"user\":{}}}",
        "{\"status\":{\"authenticated\":\"true\",\"user\":{\"username\":\"x\"}}}",
        "{\"status\":{\"allowed\":false}}",
        "{\"status\":{\"allowed\":\"true\"}}",
    };
    AUTO(json) cJSON *yes = parse("{\"status\":{\"allowed\":true}}");

    CHECK(authz_is_allowed(yes));
    CHECK(!authz_user(NULL) && !authz_is_allowed(NULL));
    for (size_t i = 0; i < COUNT_OF(nobody); i++) {
        AUTO(json) cJSON *answer = parse(nobody[i]);

        CHECK(!authz_user(answer));
        CHECK(!authz_is_allowed(answer));
    }
}

TEST(verdicts_are_remembered_for_a_while)
{
    struct authz_cache memory = {0};
    struct authz_digest one = authz_digest("one", "/metrics"), other = authz_digest("other", "/metrics");
    struct authz_digest elsewhere = authz_digest("one", "/else");

    CHECK_INT_EQ(authz_cache_get(&memory, &one, 0), AUTHZ_UNKNOWN);
    authz_cache_put(&memory, &one, AUTHZ_ALLOWED, 1000);
    authz_cache_put(&memory, &other, AUTHZ_FORBIDDEN, 1000);
    CHECK_INT_EQ(authz_cache_get(&memory, &one, 1000), AUTHZ_ALLOWED);
    CHECK_INT_EQ(authz_cache_get(&memory, &other, 1000), AUTHZ_FORBIDDEN);
    CHECK_INT_EQ(authz_cache_get(&memory, &elsewhere, 1000), AUTHZ_UNKNOWN);
    CHECK_INT_EQ(authz_cache_get(&memory, &other, 1000 + AUTHZ_DENIED_TTL_MS), AUTHZ_UNKNOWN);
    CHECK_INT_EQ(authz_cache_get(&memory, &one, 1000 + AUTHZ_ALLOWED_TTL_MS - 1), AUTHZ_ALLOWED);
    CHECK_INT_EQ(authz_cache_get(&memory, &one, 1000 + AUTHZ_ALLOWED_TTL_MS), AUTHZ_UNKNOWN);
    authz_cache_put(&memory, &one, AUTHZ_UNAUTHENTICATED, 2000);
    CHECK_INT_EQ(authz_cache_get(&memory, &one, 2000), AUTHZ_UNAUTHENTICATED);
}

TEST(a_flood_of_strangers_does_not_push_out_a_reader)
{
    struct authz_cache memory = {0};
    struct authz_digest reader = authz_digest("reader", "/metrics");

    authz_cache_put(&memory, &reader, AUTHZ_ALLOWED, 0);
    for (uint32_t i = 0; i < 10 * AUTHZ_CACHE_SIZE; i++) {
        AUTO(mem) char *token = mem_printf("stranger-%u", i);
        struct authz_digest stranger = authz_digest(token, "/metrics");

        authz_cache_put(&memory, &stranger, AUTHZ_UNAUTHENTICATED, i);
        CHECK_INT_EQ(authz_cache_get(&memory, &stranger, i), AUTHZ_UNAUTHENTICATED);
    }
    CHECK_INT_EQ(authz_cache_get(&memory, &reader, 1000), AUTHZ_ALLOWED);
}

TEST(whether_a_user_may_list_is_asked_for_a_namespace_or_all)
{
    AUTO(json) cJSON *user = parse("{\"username\":\"ada\",\"groups\":[\"g\"]}");
    AUTO(json) cJSON *one = authz_list_review(user, &KUBE_IPUJOBS, "ml");
    AUTO(json) cJSON *all = authz_list_review(user, &KUBE_PODS, NULL);
    AUTO(mem) char *of_one = json_print(json_at(one, "spec"));
    AUTO(mem) char *of_all = json_print(json_at(all, "spec"));

    CHECK_STR_EQ(of_one, "{\"resourceAttributes\":{\"group\":\"graphcore.ai\",\"resource\":\"ipujobs\","
                         "\"namespace\":\"ml\",\"verb\":\"list\"},\"user\":\"ada\",\"groups\":[\"g\"]}");
    CHECK_STR_EQ(of_all, "{\"resourceAttributes\":{\"group\":\"\",\"resource\":\"pods\",\"verb\":\"list\"},"
                         "\"user\":\"ada\",\"groups\":[\"g\"]}");
}
