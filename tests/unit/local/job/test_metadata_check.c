#include "local/job/metadata_check.h"

#include "base/core/mem.h"
#include "lib/check.h"

static char name[] = "f";
static const struct object_file file = {.name = name};

#define TEMPLATE(what) "\"metadata\":{\"name\":\"j\"},\"spec\":{\"workers\":{\"template\":{" what "}}}"

TEST(an_object_has_the_names_of_a_cluster)
{
    static const struct {
        const char *object, *problem;
    } rows[] = {
        {"\"metadata\":{\"name\":\"a.b-1\",\"namespace\":\"n\",\"labels\":{\"a.b/C_d\":\"E_1\",\"x\":\"\"},"
         "\"annotations\":{\"A.b/c\":\"any thing\"}}",
         NULL},
        {"\"metadata\":{\"name\":\"../package\"}", "metadata.name: Invalid value: \"../package\""},
        {"\"metadata\":{\"name\":\"Hello_World\"}", "metadata.name: Invalid value"},
        {"\"metadata\":{\"name\":\"-x\"}", "metadata.name: Invalid value"},
        {"\"metadata\":{\"name\":\"a..b\"}", "metadata.name: Invalid value"},
        {"\"metadata\":{\"name\":\"a.-b\"}", "metadata.name: Invalid value"},
        {"\"metadata\":{\"name\":\"\"}", "metadata.name: Invalid value"},
        {"\"metadata\":{\"name\":123}", "metadata.name: Invalid value: 123: must be a string; put it in"},
        {"\"metadata\":{\"generateName\":\"train-\"}", NULL},
        {"\"metadata\":{\"generateName\":\"../\"}", "metadata.generateName: Invalid value"},
        {"\"metadata\":{\"name\":\"j\",\"namespace\":\"Bad_NS\"}", "metadata.namespace: Invalid value"},
        {"\"metadata\":{\"name\":\"j\",\"namespace\":\"a.b\"}", "metadata.namespace: Invalid value"},
        {"\"metadata\":{\"name\":\"j\",\"labels\":{\"a b\":\"x\"}}", "metadata.labels[a b]: Invalid value"},
        {"\"metadata\":{\"name\":\"j\",\"labels\":{\"a\":\"x y\"}}", "metadata.labels[a]: Invalid value"},
        {"\"metadata\":{\"name\":\"j\",\"labels\":{\"A.b/c\":\"x\"}}", "metadata.labels[A.b/c]: Invalid"},
        {"\"metadata\":{\"name\":\"j\",\"labels\":[]}", "metadata.labels: Invalid value: []: must be an"},
        {"\"metadata\":{\"name\":\"j\",\"annotations\":{\"a\":1}}", "metadata.annotations[a]: Invalid value"},
        {TEMPLATE("\"metadata\":{\"labels\":{\"a\":\"-\"}}"),
         "spec.workers.template.metadata.labels[a]: Invalid value"},
        {TEMPLATE("\"spec\":{\"hostname\":\"../../escape\"}"),
         "spec.workers.template.spec.hostname: Invalid value"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *text = mem_printf("{%s}", row->object);
        AUTO(strv) struct strv problems = {0};
        struct err err;
        AUTO(json) cJSON *doc = json_parse(slice_of(text), &err);

        CHECK(doc != NULL);
        metadata_check(&(struct object){.file = &file, .original = doc, .doc = doc}, &problems);
        CHECK_INT_EQ(problems.count, row->problem != NULL);
        if (row->problem)
            CHECK_HAS(problems.items[0], row->problem);
    }
}
