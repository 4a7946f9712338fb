/* What may be asked at POST /whatif, and that every mistake is told at once. */
#include "lib/check.h"
#include "operator/forecast/forecast.h"
#include "operator/reconcile/report/what_if_request.h"

TEST(a_size_with_defaults)
{
    AUTO(what_if_request) struct what_if_request request = {0};
    AUTO(strv) struct strv problems = {0};

    CHECK(what_if_request_read(slice_of("{\"ipus\": 16}"), &request, &problems));
    CHECK_INT_EQ(request.ipus, 16);
    CHECK_INT_EQ(request.instances, 1);
    CHECK_INT_EQ(request.priority, 0);
    CHECK(request.bound_s == FORECAST_UNKNOWN && !request.node_selector);
    CHECK_STR_EQ(request.ns, "default");
    CHECK_STR_EQ(request.name, "");
}

TEST(spans)
{
    static const struct {
        const char *text;
        int64_t seconds; /* 0: a mistake */
    } rows[] = {{"30", 30},       {"\"30\"", 30},     {"\"45s\"", 45},   {"\"90m\"", 5400},
                {"\"2h\"", 7200}, {"\"1d\"", 86400},  {"0", 0},          {"\"0h\"", 0},
                {"-1", 0},        {"1.5", 0},         {"\"h\"", 0},      {"\"2 h\"", 0},
                {"\"\"", 0},      {"\"999999d\"", 0}, {"2147483648", 0}, {"true", 0}};
    AUTO(what_if_request) struct what_if_request second = {0};
    AUTO(strv) struct strv none = {0};

    CHECK(what_if_request_read(slice_of("{\"ipus\":1,\"for\":1}"), &second, &none));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO(what_if_request) struct what_if_request request = {0};
        AUTO(strv) struct strv problems = {0};
        AUTO(mem) char *body = mem_printf("{\"ipus\":1,\"for\":%s}", rows[i].text);
        bool is_valid = what_if_request_read(slice_of(body), &request, &problems);

        CHECK_INT_EQ(is_valid, rows[i].seconds != 0);
        if (is_valid)
            CHECK_INT_EQ(request.bound_s - second.bound_s, rows[i].seconds - 1);
    }
}

TEST(every_mistake_at_once)
{
    AUTO(what_if_request) struct what_if_request request = {0};
    AUTO(strv) struct strv problems = {0};

    CHECK(!what_if_request_read(
        slice_of("{\"ipus\": 3, \"instances\": 0, \"for\": \"soon\", \"priority\": 1e10,"
                 " \"namespace\": \"a/b\", \"gpus\": 1}"),
        &request, &problems));
    CHECK_INT_EQ(problems.count, 6);
    CHECK_STR_EQ(problems.items[0],
                 "gpus: Forbidden: expected ipus, instances, for, priority, namespace, or an "
                 "IPUJob with spec");
    CHECK_STR_EQ(problems.items[1],
                 "ipus: Invalid value: 3: must be a power of two up to 64, or a multiple of 64");
}

TEST(what_is_no_request)
{
    static const char *const bodies[] = {
        "", "{", "[]", "null", "1", "{}", "{\"kind\": \"IPUJob\"}", "{\"spec\": []}"};

    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        AUTO(what_if_request) struct what_if_request request = {0};
        AUTO(strv) struct strv problems = {0};

        CHECK(!what_if_request_read(slice_of(bodies[i]), &request, &problems));
        CHECK(problems.count > 0);
    }
}

static const char JOB[] = "{\"apiVersion\": \"graphcore.ai/v1alpha1\", \"kind\": \"IPUJob\","
                          " \"metadata\": {\"name\": \"a\", \"namespace\": \"team\"},"
                          " \"spec\": {\"jobInstances\": 2, \"ipusPerJobInstance\": \"8\", "
                          "\"activeDeadlineSeconds\": 100, \"workers\":"
                          " {\"template\": {\"spec\": {\"priority\": 7, \"nodeSelector\": {\"pod\": \"a\"}, "
                          "\"terminationGracePeriodSeconds\":"
                          " 5, \"containers\": [{\"name\": \"a\", \"image\": \"a\"}]}}}}}";

TEST(a_job)
{
    AUTO(what_if_request) struct what_if_request request = {0}, limited = {0};
    AUTO(strv) struct strv problems = {0};

    CHECK(what_if_request_read(slice_of("{\"ipus\": 8, \"for\": 100}"), &limited, &problems));
    CHECK(what_if_request_read(slice_of(JOB), &request, &problems));
    CHECK_INT_EQ(request.ipus, 8);
    CHECK_INT_EQ(request.instances, 2);
    CHECK_INT_EQ(request.priority, 7);
    CHECK_STR_EQ(request.ns, "team");
    CHECK_STR_EQ(request.name, "a");
    CHECK(request.image == str_hash("a"));
    CHECK_STR_EQ(json_str(request.node_selector, "pod", ""), "a");
    CHECK_INT_EQ(request.bound_s, limited.bound_s - 25); /* by the grace period */
}
