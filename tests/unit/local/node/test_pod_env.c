#include "local/node/pod_env.h"

#include "base/core/mem.h"
#include "lib/check.h"

static cJSON *parsed(const char *text)
{
    struct err err;
    cJSON *doc = json_parse(slice_of(text), &err);

    CHECK(doc != NULL);
    return doc;
}

/* kubernetes/kubernetes, third_party/forked/golang/expansion/expand_test.go has these cases. */
TEST(references_become_values)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"$(A)", "one"},    {"-$(A)-$(B)", "-one-"}, {"$$(A)", "$(A)"},
        {"$$$(A)", "$one"}, {"$(NONE)", "$(NONE)"},  {"$A ${A}", "$A ${A}"},
        {"$(A", "$(A"},     {"foo$", "foo$"},        {"$$", "$"},
        {"", ""},           {"$(A)$(A)", "oneone"},  {"a$$b", "a$b"},
    };
    AUTO(strv) struct strv env = {0};

    pod_env_set(&env, "A", "one");
    pod_env_set(&env, "B", "");
    CHECK_ROWS (row, rows) {
        AUTO(mem) char *got = pod_env_expand(&env, row->text);

        CHECK_STR_EQ(got, row->want);
    }
}

TEST(a_variable_is_replaced)
{
    AUTO(strv) struct strv env = {0};

    pod_env_set(&env, "AB", "x");
    pod_env_set(&env, "A", "1");
    pod_env_set(&env, "A", "2");
    CHECK_INT_EQ(env.count, 2);
    CHECK_STR_EQ(pod_env_find(&env, "A"), "2");
    CHECK_STR_EQ(pod_env_find(&env, "AB"), "x");
    CHECK_STR_EQ(pod_env_find(&env, "B"), NULL);
}

TEST(fields_of_a_pod)
{
    static const struct {
        const char *path, *want;
    } rows[] = {
        {"metadata.name", "p"},
        {"metadata.labels['a/b']", "label"},
        {"metadata.annotations['c']", "note"},
        {"metadata.labels['none']", ""},
        {"status.podIP", "127.1.2.3"},
        {"spec.containers", NULL},
        {"metadata.labels", NULL},
    };
    AUTO(json)
    cJSON *pod = parsed(
        "{\"metadata\":{\"name\":\"p\",\"labels\":{\"a/b\":\"label\"},\"annotations\":{\"c\":\"note\"}},"
        "\"status\":{\"podIP\":\"127.1.2.3\"}}");

    CHECK_ROWS (row, rows) {
        AUTO(mem) char *got = pod_field(pod, row->path);

        CHECK_STR_EQ(got, row->want);
    }
}

static const cJSON *find(void *ctx, const char *plural, const char *ns, const char *name)
{
    const cJSON *objects = ctx;

    (void)ns;
    JSON_EACH (object, json_at(objects, plural)) {
        if (str_eq(json_str(object, "metadata/name", ""), name))
            return object;
    }
    return NULL;
}

TEST(what_is_missing_is_named_as_by_a_kubelet)
{
    static const struct {
        const char *env, *want;
    } rows[] = {
        {"[{\"name\":\"A\",\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"no\",\"key\":\"k\"}}}]",
         "configmap \"no\" not found"},
        {"[{\"name\":\"A\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":\"k\"}}}]",
         "couldn't find key k in Secret ns/s"},
    };
    AUTO(json)
    cJSON *objects = parsed(
        "{\"secrets\":[{\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\"},\"data\":{\"x\":\"aGk=\"}}]}");
    AUTO(json) cJSON *pod = parsed("{\"metadata\":{\"namespace\":\"ns\"}}");
    const struct pod_source source = {.find = find, .ctx = objects};

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *container = json_object();
        AUTO(strv) struct strv env = {0};
        struct err err = {0};

        json_put_take(container, "env", parsed(row->env));
        CHECK_ERR(pod_env_make(pod, container, &source, &env, &err), err, ERR_NOT_FOUND);
        CHECK_STR_EQ(err.msg, row->want);
    }
}

TEST(a_secret_is_decoded)
{
    AUTO(json)
    cJSON *secret = parsed(
        "{\"kind\":\"Secret\",\"data\":{\"x\":\"aGk=\",\"bad\":\"*\"},\"stringData\":{\"y\":\"plain\"}}");
    AUTO(str) struct str x = {0}, y = {0}, bad = {0};

    CHECK(pod_source_value(secret, "x", &x));
    CHECK(pod_source_value(secret, "y", &y));
    CHECK(!pod_source_value(secret, "bad", &bad));
    CHECK_STR_EQ(str_text(&x), "hi");
    CHECK_STR_EQ(str_text(&y), "plain");
}
