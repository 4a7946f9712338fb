#include "operator/api/podoverlay.h"

#include "base/core/mem.h"
#include "lib/check.h"

static cJSON *parse(const char *text)
{
    struct err err = {0};
    cJSON *doc = json_parse(slice_of(text), &err);

    CHECK_OK(doc != NULL, err);
    return doc;
}

#define WORKERS                                                                                              \
    "{\"hostNetwork\":true,\"affinity\":{},\"dnsPolicy\":\"None\",\"volumes\":[{\"name\":\"a\"},{\"name\":"  \
    "\"b\"}],\"containers\":[{\"name\":\"w\",\"image\":\"i\",\"args\":[],\"env\":[{\"name\":\"A\","          \
    "\"value\":"                                                                                             \
    "\"1\"},{\"name\":\"B\",\"value\":\"2\"}],\"volumeMounts\":[{\"name\":\"a\",\"mountPath\":\"/a\"}]},{"   \
    "\"name\":\"beside\"}]}"

TEST(what_the_launcher_says_lies_over_what_it_takes_over)
{
    static const struct {
        const char *workers, *own, *made;
    } rows[] = {
        {"{\"dnsPolicy\":\"None\",\"containers\":[{\"name\":\"w\",\"image\":\"i\"}]}",
         "{\"dnsPolicy\":\"Default\",\"containers\":[{\"name\":\"head\",\"tty\":true},{\"name\":\"other\"}]}",
         "{\"containers\":[{\"image\":\"i\",\"name\":\"head\",\"tty\":true},{\"name\":\"other\"}],"
         "\"dnsPolicy\":"
         "\"Default\"}"},
        {WORKERS, "{\"volumes\":[{\"name\":\"c\"},{\"name\":\"a\",\"emptyDir\":{}}]}",
         "{\"dnsPolicy\":\"None\",\"hostNetwork\":true,\"volumes\":[{\"name\":\"a\",\"emptyDir\":{}},{"
         "\"name\":"
         "\"b\"},{\"name\":\"c\"}],\"containers\":[{\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":"
         "\"B\","
         "\"value\":\"2\"}],\"image\":\"i\",\"volumeMounts\":[{\"name\":\"a\",\"mountPath\":\"/"
         "a\"}],\"name\":"
         "\"launcher\"}]}"},
        {"{}", "{\"volumes\":null}", "{\"containers\":[{\"name\":\"launcher\"}],\"volumes\":null}"},
        {"7", "[[1]]", "{\"containers\":[{\"name\":\"launcher\"}]}"},
        {"{\"volumes\":7,\"containers\":{\"a\":{\"image\":\"i\"}}}",
         "{\"volumes\":[7],\"containers\":[[1],\"two\"]}",
         "{\"containers\":[{\"name\":\"launcher\"},\"two\"],\"volumes\":[7]}"},
        {"{\"containers\":[{\"env\":[{\"name\":\"A\"}]}]}", "{\"containers\":[{\"env\":\"text\"}]}",
         "{\"containers\":[{\"name\":\"launcher\",\"env\":\"text\"}]}"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *workers = parse(row->workers), *own = parse(row->own);
        AUTO(json) cJSON *made = podoverlay_spec(workers, own);
        AUTO(mem) char *text = json_print(made);

        CHECK_STR_EQ(text, row->made);
    }
}

TEST(a_launcher_without_a_template_is_its_worker)
{
    AUTO(json) cJSON *workers = parse("{\"containers\":[{\"name\":\"w\",\"image\":\"i\"}]}");
    AUTO(json) cJSON *made = podoverlay_spec(workers, NULL);
    AUTO(mem) char *text = json_print(made);

    CHECK_STR_EQ(text, "{\"containers\":[{\"image\":\"i\",\"name\":\"launcher\"}]}");
}

#define OWN                                                                                                  \
    "{\"nodeSelector\":{},\"initContainers\":[{\"name\":\"x\"}],\"volumes\":[{\"name\":\"c\"},{\"name\":"    \
    "\"b\",\"hostPath\":{}}],\"containers\":[{\"name\":\"head\",\"env\":[{\"name\":\"C\"},{\"value\":\"no "  \
    "name\"},{\"name\":\"A\",\"value\":\"3\"}],\"volumeMounts\":[{\"name\":\"c\",\"mountPath\":\"/"          \
    "c\"}]},{\"name\":\"other\"}]}"

TEST(each_field_is_traced_to_who_says_it)
{
    static const struct {
        const char *field;
        enum podoverlay_source source;
        const char *own_field;
    } rows[] = {
        {"nodeSelector", PODOVERLAY_OWN, "nodeSelector"},
        {"nodeSelector.a", PODOVERLAY_OWN, "nodeSelector.a"},
        {"initContainers[0].image", PODOVERLAY_OWN, "initContainers[0].image"},
        {"dnsPolicy", PODOVERLAY_TAKEN_OVER, "dnsPolicy"},
        {"dnsConfig.nameservers", PODOVERLAY_NOBODYS, "dnsConfig.nameservers"},
        /* volumes: a of the workers, b replaced, c added */
        {"volumes", PODOVERLAY_OWN, "volumes"},
        {"volumes[0].name", PODOVERLAY_TAKEN_OVER, "volumes[0].name"},
        {"volumes[1].hostPath.path", PODOVERLAY_OWN, "volumes[1].hostPath.path"},
        {"volumes[2]", PODOVERLAY_OWN, "volumes[0]"},
        {"volumes[3].name", PODOVERLAY_TAKEN_OVER, "volumes[3].name"},
        {"volumes[99999999999999].name", PODOVERLAY_TAKEN_OVER, "volumes[99999999999999].name"},
        {"containers[0].image", PODOVERLAY_TAKEN_OVER, "containers[0].image"},
        {"containers[0].args", PODOVERLAY_NOBODYS, "containers[0].args"},
        {"containers[0].name", PODOVERLAY_OWN, "containers[0].name"},
        {"containers[0].env[0].value", PODOVERLAY_OWN, "containers[0].env[2].value"},
        {"containers[0].env[1].value", PODOVERLAY_TAKEN_OVER, "containers[0].env[1].value"},
        {"containers[0].env[2].valueFrom", PODOVERLAY_OWN, "containers[0].env[0].valueFrom"},
        {"containers[0].env[3].name", PODOVERLAY_OWN, "containers[0].env[1].name"},
        {"containers[0].volumeMounts[0].name", PODOVERLAY_TAKEN_OVER, "containers[0].volumeMounts[0].name"},
        {"containers[0].volumeMounts[1].name", PODOVERLAY_OWN, "containers[0].volumeMounts[0].name"},
        {"containers[1].image", PODOVERLAY_OWN, "containers[1].image"},
    };
    AUTO(json) cJSON *workers = parse(WORKERS), *own = parse(OWN);
    AUTO(json) cJSON *made = podoverlay_spec(workers, own);

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *field = NULL;

        CHECK_INT_EQ(podoverlay_trace(made, own, row->field, &field), row->source);
        CHECK_STR_EQ(field, row->own_field);
    }
}
