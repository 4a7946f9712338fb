#include "operator/serve/webhooks/type_errors.h"

#include <time.h>

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/api/field.h"

static cJSON *parse(const char *text)
{
    struct err err = {0};
    cJSON *doc = json_parse(slice_of(text), &err);

    CHECK_OK(doc != NULL, err);
    return doc;
}

#define PODS                                                                                                 \
    "{\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\",\"c\":5,\"d\":6}},\"spec\":{\"containers\":[{"     \
    "\"name\":\"a\",\"tty\":\"yes\",\"command\":[\"train\"],\"ports\":[\"80\",\"81\"]},{\"name\":\"b\","     \
    "\"tty\":true,\"command\":\"train\",\"ports\":[{\"containerPort\":1.5},{\"containerPort\":1}]},{"        \
    "\"tty\":\"no\",\"securityContext\":{\"runAsUser\":1180591620717411303424}}]}}}"

TEST(each_value_of_a_wrong_type_is_found_and_goes)
{
    static const struct {
        const char *said, *causes;
    } rows[] = {
        {"string into Go struct field Container.template.spec.containers.tty of type bool",
         "[{\"field\":\"template.spec.containers[0].tty\",\"message\":\"Invalid value: \\\"yes\\\": must be "
         "true "
         "or false\"},{\"field\":\"template.spec.containers[2].tty\",\"message\":\"Invalid value: "
         "\\\"no\\\": "
         "must be true or false\"}]"},
        {"string into Go struct field Container.template.spec.containers.command of type []string",
         "[{\"field\":\"template.spec.containers[1].command\",\"message\":\"Invalid value: \\\"train\\\": "
         "must be "
         "a list\"}]"},
        {"string into Go struct field Container.template.spec.containers.ports of type v1.ContainerPort",
         "[{\"field\":\"template.spec.containers[0].ports[0]\",\"message\":\"Invalid value: \\\"80\\\": must "
         "be "
         "an object\"},{\"field\":\"template.spec.containers[0].ports[1]\",\"message\":\"Invalid value: "
         "\\\"81\\\": must be an object\"}]"},
        {"number into Go struct field ObjectMeta.template.metadata.labels of type string",
         "[{\"field\":\"template.metadata.labels[c]\",\"message\":\"Invalid value: 5: must be a string\"},{"
         "\"field\":\"template.metadata.labels[d]\",\"message\":\"Invalid value: 6: must be a string\"}]"},
        {"number 1.5 into Go struct field ContainerPort.template.spec.containers.ports.containerPort of type "
         "int32",
         "[{\"field\":\"template.spec.containers[1].ports[0].containerPort\",\"message\":\"Invalid value: "
         "1.5: "
         "must be a whole number (int32)\"}]"},
        {"number 1.1805916207174113e+21 into Go struct field "
         "SecurityContext.template.spec.containers.securityContext.runAsUser of type int64",
         "[{\"field\":\"template.spec.containers[2].securityContext.runAsUser\",\"message\":\"Invalid value: "
         "1180591620717411303424: must be a whole number (int64)\"}]"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *pods = parse(PODS), *status = json_object();
        json_put_strf(status, "message", "PodTemplate cannot be handled: json: cannot unmarshal %s",
                      row->said);
        AUTO(json) cJSON *found = type_errors_remove(pods, status);
        AUTO(mem) char *causes = json_print(json_at(found, "details/causes"));
        AUTO(json) cJSON *again = type_errors_remove(pods, status);

        CHECK_STR_EQ(causes, row->causes);
        CHECK(again == NULL);
    }
}

#define AMOUNTS                                                                                              \
    "{\"template\":{\"metadata\":{\"labels\":{\"sizeLimit\":7}},\"spec\":{\"containers\":[{\"resources\":{"  \
    "\"limits\":{"                                                                                           \
    "\"memory\":\"4 "                                                                                        \
    "GB\",\"cpu\":2},\"requests\":{\"a.b/c\":\"x\"}}}],\"volumes\":[{\"emptyDir\":{\"sizeLimit\":"           \
    "\"large\"}},{\"emptyDir\":{\"sizeLimit\":\"1Gi\"}}]}}}"

TEST(every_quantity_that_cannot_be_read_is_found_and_goes)
{
    AUTO(json) cJSON *pods = parse(AMOUNTS), *status = json_object();
    json_put_str(status, "message", "PodTemplate cannot be handled: unable to parse quantity's suffix");
    AUTO(json) cJSON *found = type_errors_remove(pods, status);
    AUTO(json) cJSON *again = type_errors_remove(pods, status);
    static const char *const want[] = {"template.spec.containers[0].resources.limits[memory]",
                                       "template.spec.containers[0].resources.requests[a.b/c]",
                                       "template.spec.volumes[0].emptyDir.sizeLimit"};
    size_t n = 0;

    JSON_EACH (cause, json_at(found, "details/causes")) {
        CHECK(n < COUNT_OF(want));
        CHECK_STR_EQ(json_str(cause, "field", ""), want[n++]);
        CHECK_HAS(json_str(cause, "message", ""), "must be a quantity such as 2, 500m or 4Gi");
    }
    CHECK_INT_EQ(n, COUNT_OF(want));
    CHECK(again == NULL);
}

/* All other jobs wait meanwhile. */
TEST(a_map_of_many_wrong_quantities_takes_no_time)
{
    AUTO(str) struct str text = {0};
    AUTO(json) cJSON *status = json_object();

    str_adds(&text, "{\"limits\":{");
    for (int i = 0; i < 90000; i++)
        str_addf(&text, "\"resource-%d\":\"%s\",", i, i < 45000 ? "1" : "x");
    str_adds(&text, "\"last\":\"1\"}}");
    json_put_str(status, "message", "quantities must match the regular expression");
    AUTO(json) cJSON *pods = parse(str_text(&text));
    clock_t start = clock();
    AUTO(json) cJSON *found = type_errors_remove(pods, status);

    CHECK((clock() - start) / CLOCKS_PER_SEC < 3);
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(found, "details/causes")), FIELD_PROBLEMS_MAX);
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(pods, "limits")), 45001);
}

TEST(a_long_name_of_many_values_takes_no_time)
{
    AUTO(str) struct str text = {0};
    AUTO(json) cJSON *status = json_object();

    str_addf(&text, "{\"%*s\":{", 100000, "long");
    for (int i = 0; i < 40000; i++)
        str_addf(&text, "\"%d\":1,", i);
    str_adds(&text, "\"last\":1},\"limits\":{\"cpu\":\"x\"}}");
    json_put_str(status, "message", "quantities must match the regular expression");
    AUTO(json) cJSON *pods = parse(str_text(&text));
    clock_t start = clock();
    AUTO(json) cJSON *found = type_errors_remove(pods, status);

    CHECK((clock() - start) / CLOCKS_PER_SEC < 3);
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(found, "details/causes")), 1);
}

TEST(what_is_about_no_value_is_left)
{
    static const char *const rows[] = {
        "",
        "cannot unmarshal ",
        "cannot unmarshal string into Go struct field ",
        "cannot unmarshal string into Go struct field a of type bool",
        "cannot unmarshal string into Go struct field A.template of type bool",
        "cannot unmarshal bool into Go struct field A.template.spec.containers.name of type string",
        "cannot unmarshal string into Go struct field A.template.spec.containers.none.tty of type bool",
        "cannot unmarshal string into Go struct field A.... of type ",
        "quantities must match the regular expression",
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *pods = parse(PODS), *as_it_was = parse(PODS), *status = json_object();
        json_put_str(status, "message", *row);
        AUTO(json) cJSON *found = type_errors_remove(pods, status);

        CHECK(found == NULL);
        CHECK(json_equal(pods, as_it_was));
    }
}
