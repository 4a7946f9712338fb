#include "operator/pool/config.h"

#include "base/core/mem.h"
#include "lib/check.h"

struct want {
    const char *name, *host;
    uint16_t port;
    const char *label, *value;
};

DEFINE_AUTO(pool_config);

static void check_config(const struct pool_config *config, const struct want *want)
{
    size_t count = 0;

    for (; want[count].name; count++) {
        const struct vipu_controller_config *item = &config->items[count];

        if (count >= config->count)
            CHECK_FAIL("%s is missing", want[count].name);
        CHECK_STR_EQ(item->name, want[count].name);
        CHECK_STR_EQ(item->host, want[count].host);
        CHECK_INT_EQ(item->port, want[count].port);
        CHECK_STR_EQ(item->node_label, want[count].label);
        CHECK_STR_EQ(item->node_value, want[count].value);
    }
    CHECK_INT_EQ(config->count, count);
}

#define MAX 5

static const struct {
    const char *text;
    struct want want[MAX];
} good[] = {
    {"", {{0}}},
    {" \n , ,", {{0}}},
    {"pod001:8090:vipu=pod001", {{"pod001:8090", "pod001", 8090, "vipu", "pod001"}}},
    {"pod001:8090:ipunode=node1,pod002:8091:ipunode=node2",
     {{"pod001:8090", "pod001", 8090, "ipunode", "node1"},
      {"pod002:8091", "pod002", 8091, "ipunode", "node2"}}},
    {" a:1:x=y , \tb:2:x=z \n", {{"a:1", "a", 1, "x", "y"}, {"b:2", "b", 2, "x", "z"}}},
    {"vipu", {{"vipu:8090", "vipu", 8090, NULL, NULL}}},
    {"vipu:", {{"vipu:8090", "vipu", 8090, NULL, NULL}}},
    {"vipu:9000", {{"vipu:9000", "vipu", 9000, NULL, NULL}}},
    {"vipu:9000:", {{"vipu:9000", "vipu", 9000, NULL, NULL}}},
    {"vipu::a=b", {{"vipu:8090", "vipu", 8090, "a", "b"}}},
    {"vipu:1:example.org/pod=", {{"vipu:1", "vipu", 1, "example.org/pod", ""}}},
    {"[::1]", {{"[::1]:8090", "::1", 8090, NULL, NULL}}},
    {"[fe80::1%eth0]:9000:a=b", {{"[fe80::1%eth0]:9000", "fe80::1%eth0", 9000, "a", "b"}}},
    {"a:1,a:2", {{"a:1", "a", 1, NULL, NULL}, {"a:2", "a", 2, NULL, NULL}}},
    {"a:65535", {{"a:65535", "a", 65535, NULL, NULL}}},
};

TEST(the_string_of_the_original_chart_is_read)
{
    CHECK_ROWS (row, good) {
        AUTO(pool_config) struct pool_config config = {0};
        AUTO(strv) struct strv problems = {0};

        pool_config_add_text(&config, row->text, &problems);
        if (problems.count)
            CHECK_FAIL("%s", problems.items[0]);
        check_config(&config, row->want);
        pool_config_release(&config);
        CHECK_INT_EQ(config.count, 0);
    }
}

static const struct {
    const char *text;
    const char *problems[MAX];
    size_t controllers;
} bad[] = {
    {":8090", {"invalid V-IPU controller \":8090\": expected host:port:label=value"}, 0},
    {"[::1", {"invalid V-IPU controller \"[::1\": expected host:port:label=value"}, 0},
    {"[]:1", {"invalid V-IPU controller \"[]:1\": expected host:port:label=value"}, 0},
    {"[::1]x:1", {"invalid V-IPU controller \"[::1]x:1\": expected host:port:label=value"}, 0},
    {"a b:1", {"invalid V-IPU controller \"a b:1\": expected host:port:label=value"}, 0},
    {"a:0", {"\"a:0\": the port must be a number from 1 to 65535, got \"0\""}, 0},
    {"a:65536", {"\"a:65536\": the port must be a number from 1 to 65535, got \"65536\""}, 0},
    {"a:http", {"\"a:http\": the port must be a number from 1 to 65535, got \"http\""}, 0},
    {"a:-1", {"\"a:-1\": the port must be a number from 1 to 65535, got \"-1\""}, 0},
    {"a:1:label", {"\"a:1:label\": the node selector must be label=value, got \"label\""}, 0},
    {"a:1:=value", {"\"a:1:=value\": the node selector must be label=value, got \"=value\""}, 0},
    {"a:1:x=y=z", {"\"a:1:x=y=z\": the node selector must be label=value, got \"x=y=z\""}, 0},
    {"a:1:x=y z", {"\"a:1:x=y z\": the node selector must be label=value, got \"x=y z\""}, 0},
    {"::1", {"invalid V-IPU controller \"::1\": expected host:port:label=value"}, 0},
    {"a:1,a:1:x=y", {"\"a:1:x=y\": V-IPU controller a port 1 is listed twice"}, 1},
    {"a,a:8090", {"\"a:8090\": V-IPU controller a port 8090 is listed twice"}, 1},
    {"a:1:x=y,z=w", {"invalid V-IPU controller \"z=w\": expected host:port:label=value"}, 1},
    {"a:x,good,b:y",
     {"\"a:x\": the port must be a number from 1 to 65535, got \"x\"",
      "\"b:y\": the port must be a number from 1 to 65535, got \"y\""},
     1},
};

static void check_problems(const struct strv *problems, const char *const *want)
{
    size_t count = 0;

    for (; count < MAX && want[count]; count++)
        CHECK_STR_EQ(count < problems->count ? problems->items[count] : NULL, want[count]);
    CHECK_INT_EQ(problems->count, count);
}

TEST(every_mistake_in_the_string_is_named_and_the_rest_is_read)
{
    CHECK_ROWS (row, bad) {
        AUTO(pool_config) struct pool_config config = {0};
        AUTO(strv) struct strv problems = {0};

        pool_config_add_text(&config, row->text, &problems);
        check_problems(&problems, row->problems);
        CHECK_INT_EQ(config.count, row->controllers);
    }
}

static const struct {
    const char *yaml;
    struct want want[MAX];
} good_files[] = {
    {"", {{0}}},
    {"# nothing yet\n", {{0}}},
    {"vipuControllers:\n", {{0}}},
    {"vipuControllers: \"\"\n", {{0}}},
    {"vipuControllers: []\n", {{0}}},
    {"vipu-server:8090:vipu-ctrl=vctl1\n", {{"vipu-server:8090", "vipu-server", 8090, "vipu-ctrl", "vctl1"}}},
    {"- pod001:8090:vipu=a\n- {host: b}\n",
     {{"pod001:8090", "pod001", 8090, "vipu", "a"}, {"b:8090", "b", 8090, NULL, NULL}}},
    {"vipuControllers: pod001:8090:vipu=a,pod002\n",
     {{"pod001:8090", "pod001", 8090, "vipu", "a"}, {"pod002:8090", "pod002", 8090, NULL, NULL}}},
    {"vipuControllers:\n- host: a\n  port: 9000\n  selector: x=y\n- host: b\n- c:7\n",
     {{"a:9000", "a", 9000, "x", "y"}, {"b:8090", "b", 8090, NULL, NULL}, {"c:7", "c", 7, NULL, NULL}}},
    {"vipuControllers:\n- host: fe80::1\n  port: \"9000\"\n",
     {{"[fe80::1]:9000", "fe80::1", 9000, NULL, NULL}}},
    {"vipuControllers:\n- {host: a, port: null, selector: null, secretRef: null, tls: null}\n",
     {{"a:8090", "a", 8090, NULL, NULL}}},
};

TEST(a_file_is_read)
{
    CHECK_ROWS (row, good_files) {
        AUTO(pool_config) struct pool_config config = {0};
        AUTO(strv) struct strv problems = {0};

        pool_config_add_yaml(&config, slice_of(row->yaml), "c.yaml", &problems);
        if (problems.count)
            CHECK_FAIL("%s", problems.items[0]);
        check_config(&config, row->want);
    }
}

static const struct {
    const char *yaml;
    const char *problems[MAX];
} bad_files[] = {
    {"7\n", {"c.yaml: line 1: vipuControllers must be a string or a list"}},
    {"just text\n",
     {"c.yaml: line 1: invalid V-IPU controller \"just text\": expected host:port:label=value"}},
    {"\nvipucontrollers: a\n", {"c.yaml: line 2: unknown key \"vipucontrollers\""}},
    {"vipuControllers: 7\n", {"c.yaml: line 1: vipuControllers must be a string or a list"}},
    {"vipuControllers: {host: a}\n", {"c.yaml: line 1: vipuControllers must be a string or a list"}},
    {"vipuControllers:\n- port: 1\n", {"c.yaml: line 2: host is required for a V-IPU controller"}},
    {"vipuControllers:\n- host: [a]\n", {"c.yaml: line 2: host is required for a V-IPU controller"}},
    {"vipuControllers:\n- 7\n",
     {"c.yaml: line 2: V-IPU controller: expected a string or {host, port, selector, secretRef, tls, "
      "policy}"}},
    {"vipuControllers:\n- [a]\n",
     {"c.yaml: line 2: V-IPU controller: expected a string or {host, port, selector, secretRef, tls, "
      "policy}"}},
    {"vipuControllers:\n- host: a\n  port: 0\n",
     {"c.yaml: line 2: \"a:0:\": the port must be a number from 1 to 65535, got \"0\""}},
    {"vipuControllers:\n- host: a\n  port: http\n",
     {"c.yaml: line 2: \"a:http:\": the port must be a number from 1 to 65535, got \"http\""}},
    {"vipuControllers:\n- host: a\n  port: 1.5\n",
     {"c.yaml: line 2: \"a:1.5:\": the port must be a number from 1 to 65535, got \"1.5\""}},
    {"vipuControllers:\n- host: a\n  port: [1]\n",
     {"c.yaml: line 2: port of V-IPU controller a must be a single value"}},
    {"vipuControllers:\n- host: a\n  selector: {x: y}\n",
     {"c.yaml: line 2: selector of V-IPU controller a must be a single value"}},
    {"vipuControllers:\n- host: a\n  selector: xy\n",
     {"c.yaml: line 2: \"a::xy\": the node selector must be label=value, got \"xy\""}},
    {"vipuControllers:\n- {host: a, secretRef: pod1}\n- {host: b, secretRef: {}}\n- {host: c, secretRef: "
     "{name: "
     "a, key: b}}\n- {host: d, secretRef: {name: 7}}\n",
     {"c.yaml: line 2: secretRef of V-IPU controller a must be {name: NAME}, with the name of a Secret",
      "c.yaml: line 3: secretRef of V-IPU controller b must be {name: NAME}, with the name of a Secret",
      "c.yaml: line 4: secretRef of V-IPU controller c must be {name: NAME}, with the name of a Secret",
      "c.yaml: line 5: secretRef of V-IPU controller d must be {name: NAME}, with the name of a Secret"}},
    {"vipuControllers:\n- {host: a, secretRef: {name: ../../etc}}\n- {host: b, secretRef: {name: ..}}\n- "
     "{host: c, "
     "secretRef: {name: Upper}}\n- {host: d, secretRef: {name: \"\"}, tls: yes}\n",
     {"c.yaml: line 2: secretRef of V-IPU controller a must be {name: NAME}, with the name of a Secret",
      "c.yaml: line 3: secretRef of V-IPU controller b must be {name: NAME}, with the name of a Secret",
      "c.yaml: line 4: secretRef of V-IPU controller c must be {name: NAME}, with the name of a Secret",
      "c.yaml: line 5: secretRef of V-IPU controller d must be {name: NAME}, with the name of a Secret",
      "c.yaml: line 5: tls of V-IPU controller d must be true or false"}},
    {"vipuControllers:\n- {host: a, policy: fair}\n- {host: b, policy: 1}\n",
     {"c.yaml: line 2: policy of V-IPU controller a must be strict, bounded or predicted",
      "c.yaml: line 3: policy of V-IPU controller b must be strict, bounded or predicted"}},
    {"vipuControllers:\n- host: a\n  label: b\n- host: a\n",
     {"c.yaml: line 3: unknown key \"label\"",
      "c.yaml: line 4: \"a::\": V-IPU controller a port 8090 is listed twice"}},
};

static void read_controller(struct pool_config *ret, const char *item)
{
    AUTO(mem) char *yaml = mem_printf("vipuControllers:\n- %s\n", item);
    AUTO(strv) struct strv problems = {0};

    pool_config_add_yaml(ret, slice_of(yaml), "c.yaml", &problems);
    CHECK_INT_EQ(problems.count, 0);
    CHECK_INT_EQ(ret->count, 1);
}

TEST(a_controller_with_a_secret_has_tls_unless_it_is_turned_off)
{
    static const struct {
        const char *item, *secret;
        bool tls;
    } rows[] = {
        {"a", NULL, false},
        {"{host: a}", NULL, false},
        {"{host: a, tls: true}", NULL, true},
        {"{host: a, secretRef: {name: pod1.vipu}}", "pod1.vipu", true},
        {"{host: a, secretRef: {name: pod1-vipu}, tls: null}", "pod1-vipu", true},
        {"{host: a, secretRef: {name: x}, tls: false}", "x", false},
    };

    CHECK_ROWS (row, rows) {
        AUTO(pool_config) struct pool_config config = {0};

        read_controller(&config, row->item);
        CHECK_STR_EQ(config.items[0].secret, row->secret);
        CHECK_INT_EQ(config.items[0].tls, row->tls);
    }
}

TEST(a_controller_may_have_its_own_policy)
{
    static const struct {
        const char *item;
        bool has_policy;
        enum forecast_policy policy;
    } rows[] = {
        {"a", false, 0},
        {"{host: a, policy: null}", false, 0},
        {"{host: a, policy: strict}", true, FORECAST_STRICT},
        {"{host: a, policy: predicted}", true, FORECAST_PREDICTED},
    };

    CHECK_ROWS (row, rows) {
        AUTO(pool_config) struct pool_config config = {0};

        read_controller(&config, row->item);
        CHECK_INT_EQ(config.items[0].has_policy, row->has_policy);
        if (row->has_policy)
            CHECK_INT_EQ(config.items[0].policy, row->policy);
    }
}

TEST(every_mistake_in_a_file_is_named_with_its_line)
{
    CHECK_ROWS (row, bad_files) {
        AUTO(pool_config) struct pool_config config = {0};
        AUTO(strv) struct strv problems = {0};

        pool_config_add_yaml(&config, slice_of(row->yaml), "c.yaml", &problems);
        check_problems(&problems, row->problems);
    }
}

/* One selector is one selector: a comma does not start another controller. */
TEST(a_selector_with_a_comma_makes_no_second_controller)
{
    AUTO(pool_config) struct pool_config config = {0};
    AUTO(strv) struct strv problems = {0};

    pool_config_add_yaml(&config, SLICE_LIT("vipuControllers:\n- {host: a, selector: \"x=y,b=c\"}\n"),
                         "c.yaml", &problems);
    CHECK_INT_EQ(config.count, 0);
    check_problems(&problems,
                   (const char *const[MAX]){"c.yaml: line 2: \"a::x=y,b=c\": the node selector must be "
                                            "label=value, got \"x=y,b=c\""});
}

TEST(a_mistake_is_one_line_whatever_it_quotes)
{
    AUTO(pool_config) struct pool_config config = {0};
    AUTO(strv) struct strv problems = {0};

    pool_config_add_yaml(&config, SLICE_LIT("{\"a\\nb\": 1, vipuControllers: [\"c\\td\"]}"), "c.yaml",
                         &problems);
    check_problems(&problems, (const char *const[MAX]){"c.yaml: line 1: unknown key \"a b\"",
                                                       "c.yaml: line 1: invalid V-IPU controller \"c d\": "
                                                       "expected host:port:label=value"});
}

TEST(a_broken_file_is_one_line_with_its_place)
{
    AUTO(pool_config) struct pool_config config = {0};
    AUTO(strv) struct strv problems = {0};

    pool_config_add_yaml(&config, SLICE_LIT("a: [1\nb: 2\n"), "c.yaml", &problems);
    CHECK_INT_EQ(problems.count, 1);
    CHECK_HAS(problems.items[0], "c.yaml: line 2: ");
}
