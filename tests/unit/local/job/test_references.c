#include "local/job/references.h"

#include "base/core/mem.h"
#include "lib/check.h"

static char name[] = "f";
static const struct object_file file = {.name = name};

static struct object object_of(const char *text)
{
    struct err err;
    cJSON *doc = json_parse(slice_of(text), &err);

    CHECK(doc != NULL);
    return (struct object){.file = &file, .original = doc, .doc = doc};
}

TEST(what_no_file_has_is_told_unless_it_is_optional)
{
    static const struct {
        const char *pod, *problem;
    } rows[] = {
        {"\"volumes\":[{\"secret\":{\"secretName\":\"three\"}}]",
         "volumes[0].secret: Secret \"three\" is in no file"},
        {"\"containers\":[{\"envFrom\":[{\"configMapRef\":{\"name\":\"one\"}},{\"secretRef\":{\"name\":"
         "\"two\","
         "\"optional\":true}}]}]",
         "containers[0].envFrom[0].configMapRef: ConfigMap \"one\" is in no file"},
        {"\"containers\":[{\"env\":[{\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"c\",\"key\":\"a..b\"}}}]}"
         "]",
         NULL},
        {"\"containers\":[{\"env\":[{\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"c\",\"key\":\"z\"}}}]}]",
         "configMapKeyRef: ConfigMap \"c\" has no key \"z\""},
        {"\"containers\":[{\"env\":[{\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"c\",\"key\":\"z\","
         "\"optional\":true}}}]}]",
         NULL},
        {"\"volumes\":[{\"configMap\":{\"name\":\"c\",\"items\":[{\"key\":\"a..b\",\"path\":\"x..y\"},"
         "{\"key\":\"z\",\"path\":\"z\"}]}}]",
         "volumes[0].configMap.items[1]: ConfigMap \"c\" has no key \"z\""},
        {"\"volumes\":[{\"configMap\":{\"name\":\"c\",\"items\":[{\"key\":\"a..b\",\"path\":\"../x\"}]}}]",
         "volumes[0].configMap.items[0].path: Invalid value"},
        {"\"volumes\":[{\"projected\":{\"sources\":[{\"downwardAPI\":{\"items\":[{\"path\":\"/x\"}]}}]}}]",
         "sources[0].downwardAPI.items[0].path: Invalid value"},
        {"\"containers\":[{\"env\":[{\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.labels['a']\"}}}]}"
         "]",
         NULL},
        {"\"containers\":[{\"env\":[{\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"spec.foo\"}}}]}]",
         "env[0].valueFrom.fieldRef.fieldPath: Unsupported value"},
    };
    struct object map = object_of("{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\",\"namespace\":"
                                  "\"default\"},\"data\":{\"a..b\":\"1\"}}");

    CHECK_ROWS (row, rows) {
        AUTO(mem)
        char *text = mem_printf("{\"kind\":\"IPUJob\",\"metadata\":{\"namespace\":\"default\"},\"spec\":{"
                                "\"workers\":{\"template\":{\"spec\":{%s}}}}}",
                                row->pod);
        struct object job = object_of(text);
        AUTO(strv) struct strv problems = {0};

        references_check(&job, &(struct objects){.items = &map, .count = 1}, &problems);
        CHECK_INT_EQ(problems.count, row->problem != NULL);
        if (row->problem)
            CHECK_HAS(problems.items[0], row->problem);
        cJSON_Delete(job.doc);
    }
    cJSON_Delete(map.doc);
}

TEST(values_that_no_cluster_would_store_are_told)
{
    static const struct {
        const char *object, *problem;
    } rows[] = {
        {"{\"kind\":\"ConfigMap\",\"data\":{\"a..b\":\"1\",\"A-_.9\":\"\"},\"binaryData\":{\"c\":\"YQ==\"}}",
         NULL},
        {"{\"kind\":\"Secret\",\"data\":{\"a\":\"YQ==\"},\"stringData\":{\"b\":\"?\"}}", NULL},
        {"{\"kind\":\"Secret\",\"data\":null}", NULL},
        {"{\"kind\":\"IPUJob\",\"data\":{\"a\":1}}", NULL},
        {"{\"kind\":\"ConfigMap\",\"data\":{\"rate\":0.1}}",
         "data[rate]: Invalid value: must be a string; put it in quotes"},
        {"{\"kind\":\"ConfigMap\",\"data\":[]}", "data: Invalid value: must be an object"},
        {"{\"kind\":\"ConfigMap\",\"binaryData\":{\"c\":\"?\"}}",
         "binaryData[c]: Invalid value: must be base64"},
        {"{\"kind\":\"Secret\",\"data\":{\"a\":\"?\"}}", "data[a]: Invalid value: must be base64"},
        {"{\"kind\":\"Secret\",\"stringData\":{\"a\":true}}",
         "stringData[a]: Invalid value: must be a string"},
        {"{\"kind\":\"ConfigMap\",\"data\":{\"..a\":\"\"}}", "data[..a]: Invalid value: a key has"},
        {"{\"kind\":\"ConfigMap\",\"data\":{\"a/b\":\"\"}}", "data[a/b]: Invalid value: a key has"},
    };

    CHECK_ROWS (row, rows) {
        struct object object = object_of(row->object);
        AUTO(strv) struct strv problems = {0};

        references_check_values(&object, &problems);
        CHECK_INT_EQ(problems.count, row->problem != NULL);
        if (row->problem)
            CHECK_HAS(problems.items[0], row->problem);
        cJSON_Delete(object.doc);
    }
}
