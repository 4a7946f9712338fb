#include "operator/api/pod/pod_overlay.h"

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

/* spec.launcher with such a template. */
static cJSON *launcher_of(const char *own, const char *env)
{
    cJSON *launcher = json_object();

    json_put_take(json_put_object(launcher, "template"), "spec", parse(own));
    if (env)
        json_put_take(launcher, "env", parse(env));
    return launcher;
}

TEST(what_the_launcher_sets_overrides_what_it_inherits)
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
        AUTO(json) cJSON *workers = parse(row->workers), *launcher = launcher_of(row->own, NULL);
        AUTO(json) cJSON *made = pod_overlay_spec(workers, launcher);
        AUTO(mem) char *text = json_print(made);

        CHECK_STR_EQ(text, row->made);
    }
}

TEST(variables_of_the_launchers_own_lie_over_both_templates)
{
    static const struct {
        const char *env, *made;
    } rows[] = {
        {"[{\"name\":\"C\"},{\"name\":\"A\",\"value\":\"3\"},{\"name\":\"B\",\"value\":\"3\"},7]",
         "{\"containers\":[{\"env\":[{\"name\":\"A\",\"value\":\"3\"},{\"name\":\"B\",\"value\":\"3\"},{"
         "\"name\":\"C\"},7],\"name\":\"head\"}]}"},
        {"\"text\"",
         "{\"containers\":[{\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\",\"value\":\"2\"}],"
         "\"name\":\"head\"}]}"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(json)
        cJSON *workers =
            parse("{\"containers\":[{\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\"}]}]}");
        AUTO(json)
        cJSON *launcher = launcher_of(
            "{\"containers\":[{\"name\":\"head\",\"env\":[{\"name\":\"B\",\"value\":\"2\"}]}]}", row->env);
        AUTO(json) cJSON *made = pod_overlay_spec(workers, launcher);
        AUTO(mem) char *text = json_print(made);

        CHECK_STR_EQ(text, row->made);
    }
}

TEST(a_launcher_without_a_template_is_its_worker)
{
    AUTO(json) cJSON *workers = parse("{\"containers\":[{\"name\":\"w\",\"image\":\"i\"}]}");
    AUTO(json) cJSON *made = pod_overlay_spec(workers, NULL);
    AUTO(mem) char *text = json_print(made);

    CHECK_STR_EQ(text, "{\"containers\":[{\"image\":\"i\",\"name\":\"launcher\"}]}");
}

#define OWN                                                                                                  \
    "{\"nodeSelector\":{},\"initContainers\":[{\"name\":\"x\"}],\"volumes\":[{\"name\":\"c\"},{\"name\":"    \
    "\"b\",\"hostPath\":{}}],\"containers\":[{\"name\":\"head\",\"env\":[{\"name\":\"C\"},{\"value\":\"no "  \
    "name\"},{\"name\":\"A\",\"value\":\"3\"}],\"volumeMounts\":[{\"name\":\"c\",\"mountPath\":\"/"          \
    "c\"}]},{\"name\":\"other\"}]}"

TEST(each_field_is_traced_to_its_source)
{
    static const struct {
        const char *field;
        enum pod_overlay_source source;
        const char *own_field;
    } rows[] = {
        {"nodeSelector", POD_OVERLAY_OWN, "template.spec.nodeSelector"},
        {"nodeSelector.a", POD_OVERLAY_OWN, "template.spec.nodeSelector.a"},
        {"initContainers[0].image", POD_OVERLAY_OWN, "template.spec.initContainers[0].image"},
        {"dnsPolicy", POD_OVERLAY_INHERITED, "template.spec.dnsPolicy"},
        {"dnsConfig.nameservers", POD_OVERLAY_MISSING, "template.spec.dnsConfig.nameservers"},
        /* volumes: a of the workers, b replaced, c added */
        {"volumes", POD_OVERLAY_OWN, "template.spec.volumes"},
        {"volumes[0].name", POD_OVERLAY_INHERITED, "template.spec.volumes[0].name"},
        {"volumes[1].hostPath.path", POD_OVERLAY_OWN, "template.spec.volumes[1].hostPath.path"},
        {"volumes[2]", POD_OVERLAY_OWN, "template.spec.volumes[0]"},
        {"volumes[3].name", POD_OVERLAY_INHERITED, "template.spec.volumes[3].name"},
        {"volumes[99999999999999].name", POD_OVERLAY_INHERITED, "template.spec.volumes[99999999999999].name"},
        {"containers[0].image", POD_OVERLAY_INHERITED, "template.spec.containers[0].image"},
        {"containers[0].args", POD_OVERLAY_MISSING, "template.spec.containers[0].args"},
        {"containers[0].name", POD_OVERLAY_OWN, "template.spec.containers[0].name"},
        {"containers[0].env[0].value", POD_OVERLAY_OWN, "template.spec.containers[0].env[2].value"},
        {"containers[0].env[1].value", POD_OVERLAY_INHERITED, "template.spec.containers[0].env[1].value"},
        {"containers[0].env[2].valueFrom", POD_OVERLAY_OWN, "env[0].valueFrom"},
        {"containers[0].env[3].name", POD_OVERLAY_OWN, "template.spec.containers[0].env[1].name"},
        {"containers[0].env[4].name", POD_OVERLAY_OWN, "env[1].name"},
        {"containers[0].volumeMounts[0].name", POD_OVERLAY_INHERITED,
         "template.spec.containers[0].volumeMounts[0].name"},
        {"containers[0].volumeMounts[1].name", POD_OVERLAY_OWN,
         "template.spec.containers[0].volumeMounts[0].name"},
        {"containers[1].image", POD_OVERLAY_OWN, "template.spec.containers[1].image"},
    };
    AUTO(json)
    cJSON *workers = parse(WORKERS),
          *launcher = launcher_of(OWN, "[{\"name\":\"C\",\"value\":\"3\"},{\"value\":\"1\"}]");
    AUTO(json) cJSON *made = pod_overlay_spec(workers, launcher);

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *field = NULL;

        CHECK_INT_EQ(pod_overlay_trace(made, launcher, row->field, &field), row->source);
        CHECK_STR_EQ(field, row->own_field);
    }
}
