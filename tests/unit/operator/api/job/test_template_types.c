#include "operator/api/job/template_types.h"

#include <math.h>

#include "lib/check.h"
#include "operator/api/field.h"

#define OF_POD(pod) "{\"spec\":{\"workers\":{\"template\":" pod "}}}"
#define OF_CONTAINER(more) OF_POD("{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"," more "}]}}")
#define POD "spec.workers.template"
#define CONTAINER POD ".spec.containers[1]"

static void check(const char *text, struct strv *ret)
{
    struct err err = {0};
    AUTO(json) cJSON *job = json_parse(slice_of(text), &err);

    CHECK_OK(job, err);
    template_types_check(job, "spec/workers/template", ret);
}

TEST(values_of_another_kind_are_named_with_their_place_and_value)
{
    static const struct {
        const char *job, *problem; /* NULL: there is none */
    } rows[] = {
        {OF_POD("{\"metadata\":7}"), POD ".metadata: Invalid value: 7: must be an object"},
        {OF_POD("{\"metadata\":{\"labels\":{\"a.b/c\":1}}}"),
         POD ".metadata.labels[a.b/c]: Invalid value: 1: must be a string; put it in quotes"},
        {OF_POD("{\"metadata\":{\"annotations\":[\"a\"]}}"),
         POD ".metadata.annotations: Invalid value: [\"a\"]: must be an object"},
        {OF_POD("{\"spec\":{\"nodeSelector\":{\"gpu\":true}}}"),
         POD ".spec.nodeSelector[gpu]: Invalid value: true: must be a string; put it in quotes"},
        {OF_POD("{\"spec\":{\"tolerations\":[{},\"all\"]}}"),
         POD ".spec.tolerations[1]: Invalid value: \"all\": must be an object"},
        {OF_CONTAINER("\"image\":7"),
         CONTAINER ".image: Invalid value: 7: must be a string; put it in quotes"},
        {OF_CONTAINER("\"image\":null"), NULL},
        {OF_CONTAINER("\"command\":\"train --epochs\""),
         CONTAINER ".command: Invalid value: \"train --epochs\": must be a list of strings, such as "
                   "[\"sleep\", \"10\"]"},
        {OF_CONTAINER("\"args\":[\"--epochs\",12]"),
         CONTAINER ".args[1]: Invalid value: 12: must be a string; put it in quotes"},
        {OF_CONTAINER("\"env\":{\"A\":\"1\"}"),
         CONTAINER ".env: Invalid value: {\"A\":\"1\"}: must be a list"},
        {OF_CONTAINER("\"env\":[{\"name\":\"A\",\"value\":1}]"),
         CONTAINER ".env[0].value: Invalid value: 1: must be a string; put it in quotes"},
        {OF_CONTAINER("\"env\":[{\"value\":\"1\"}]"), CONTAINER ".env[0].name: Required value"},
        {OF_CONTAINER("\"env\":[{\"name\":\"\"}]"), CONTAINER ".env[0].name: Required value"},
        {OF_CONTAINER("\"env\":[7]"), CONTAINER ".env[0]: Invalid value: 7: must be an object"},
        {OF_CONTAINER("\"resources\":{\"limits\":{\"memory\":\"4 GB\"}}"),
         CONTAINER ".resources.limits[memory]: Invalid value: \"4 GB\": " QUANTITY_WANTED},
        {OF_POD("{\"spec\":{\"initContainers\":[{\"image\":7}]}}"),
         POD ".spec.initContainers[0].image: Invalid value: 7: must be a string; put it in quotes"},
        /* what it leaves to the dry run */
        {OF_CONTAINER(
             "\"ports\":7,\"stdin\":\"yes\",\"env\":[{\"name\":\"A\",\"valueFrom\":{}}],\"resources\":{}"),
         NULL},
        {OF_POD("7"), NULL},
        {OF_POD("{\"spec\":{\"containers\":7}}"), NULL},
        {"{}", NULL},
    };

    CHECK_ROWS (row, rows) {
        AUTO(strv) struct strv problems = {0};

        check(row->job, &problems);
        CHECK_STR_EQ(problems.count ? problems.items[0] : NULL, row->problem);
        CHECK_INT_EQ(problems.count, row->problem != NULL);
    }
}

TEST(quantities_are_those_of_kubernetes)
{
    static const char *const good[] = {"0",  "2",    "+1",   "-1",  "1.5", ".5",   "5.",   "500m",  "4Gi",
                                       "1k", "100n", "12e6", "1E3", "2E",  "1e-3", "1e+3", "0.5Ki", "10u"};
    static const char *const bad[] = {"",    "four", "4 Gi", "4GB", "4gi", "Gi", ".",   "1.2.3", "1e",
                                      "1e+", "0x10", "--1",  " 1",  "1 ",  "K",  "1mm", "1,5",   "4Kii"};
    AUTO(json)
    cJSON *whole = cJSON_CreateNumber(-3), *part = cJSON_CreateNumber(1.5), *truth = cJSON_CreateTrue();

    CHECK_ROWS (text, good) {
        AUTO(json) cJSON *value = cJSON_CreateString(*text);

        if (!quantity_is_valid(value))
            CHECK_FAIL("%s is rejected", *text);
    }
    CHECK_ROWS (text, bad) {
        AUTO(json) cJSON *value = cJSON_CreateString(*text);

        if (quantity_is_valid(value))
            CHECK_FAIL("%s is accepted", *text);
    }
    CHECK(quantity_is_valid(whole));
    CHECK(!quantity_is_valid(part)); /* the resource definition takes texts and whole numbers */
    CHECK(!quantity_is_valid(truth));
}

TEST(a_quantity_has_a_value)
{
    static const struct {
        const char *text;
        double value;
    } rows[] = {{"2", 2},     {"500m", 0.5},   {"1.5", 1.5}, {"4Gi", 4294967296.0},
                {"1k", 1000}, {"12e3", 12000}, {"2E", 2e18}, {"-1", -1},
                {"4GB", 0},   {"", 0}};
    AUTO(json) cJSON *whole = cJSON_CreateNumber(3), *part = cJSON_CreateNumber(1.5);

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *value = cJSON_CreateString(row->text);

        if (fabs(quantity_read(value) - row->value) > 1e-9)
            CHECK_FAIL("%s is read as %g", row->text, quantity_read(value));
    }
    CHECK(quantity_read(whole) == 3.0);
    CHECK(quantity_read(part) == 0.0);
    CHECK(quantity_read(NULL) == 0.0);
}
