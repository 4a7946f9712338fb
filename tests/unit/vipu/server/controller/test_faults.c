/* Fault injection: the rules, and how they are written. */
#include "lib/check.h"

#include "base/core/mem.h"
#include "vipu/server/config/config.h"
#include "vipu/server/config/faults_doc.h"

static struct faults faults_of(const char *yaml)
{
    struct server_config config = server_config_default();
    AUTO(strv) struct strv problems = {0};
    struct faults faults = {0};

    if (!faults_read(slice_of(yaml), "test", &config.clusters, &faults, &problems))
        CHECK_FAIL("%s", problems.items[0]);
    server_config_release(&config);
    faults_begin(&faults, 1000);
    return faults;
}

TEST(patterns)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } rows[] = {
        {"", "", true},       {"", "a", false},           {"*", "", true},
        {"*", "abc", true},   {"a*c", "abbc", true},      {"a*c", "ab", false},
        {"a?c", "abc", true}, {"a?c", "ac", false},       {"*ab*ab", "abab", true},
        {"*b", "abab", true}, {"*ab*abc", "abab", false}, {"p-*-1", "p-1-1-1", true},
        {"**", "x", true},    {"ag1", "ag11", false},
    };

    CHECK_ROWS (row, rows) {
        CHECK_INT_EQ(fault_pattern_matches(row->pattern, row->text), row->matches);
    }
}

TEST(call_rules_add_up_and_the_first_answer_counts)
{
    AUTO(faults)
    struct faults f =
        faults_of("calls:\n"
                  "- {method: Create*, latency-ms: 5}\n"
                  "- {partition: 'p?', latency-ms: 7, late-ms: 3}\n"
                  "- {method: CreatePartition, after: 1, times: 2, status: UNAVAILABLE, message: gone}\n"
                  "- {drop: true, takes-effect: true, partition: drop}\n");
    struct fault_verdict v = faults_on_call(&f, "CreatePartition", "p1");

    CHECK_INT_EQ(v.latency_ms, 12);
    CHECK_INT_EQ(v.late_ms, 3);
    CHECK(v.status == 0 && !v.drop && v.takes_effect);
    for (int i = 0; i < 2; i++) {
        v = faults_on_call(&f, "CreatePartition", "other");
        CHECK_INT_EQ(v.latency_ms, 5);
        CHECK_INT_EQ(v.status, 14);
        CHECK_STR_EQ(v.message, "gone");
        CHECK(!v.takes_effect);
    }
    CHECK_INT_EQ(faults_on_call(&f, "CreatePartition", "other").status, 0);
    v = faults_on_call(&f, "GetPartitionStatus", "drop");
    CHECK(v.drop && v.takes_effect && v.latency_ms == 0);
    CHECK(!faults_on_call(&f, "ListPartitions", "").drop);
}

TEST(the_same_seed_gives_the_same_faults)
{
    static const char *const yaml = "{seed: 99, calls: [{chance: 30, latency-ms: 10, latency-up-to-ms: 500}, "
                                    "{chance: 50, status: ABORTED}]}";
    AUTO(faults) struct faults a = faults_of(yaml);
    AUTO(faults) struct faults b = faults_of(yaml);
    unsigned delayed = 0, rejected = 0;

    for (int i = 0; i < 10000; i++) {
        struct fault_verdict one = faults_on_call(&a, "GetVersion", ""),
                             two = faults_on_call(&b, "GetVersion", "");

        CHECK_INT_EQ(one.latency_ms, two.latency_ms);
        CHECK_INT_EQ(one.status, two.status);
        CHECK(one.latency_ms == 0 || (one.latency_ms >= 10 && one.latency_ms <= 500));
        delayed += one.latency_ms > 0;
        rejected += one.status > 0;
    }
    CHECK(delayed > 2700 && delayed < 3300 && rejected > 4700 && rejected < 5300);
}

TEST(hardware_comes_back)
{
    AUTO(faults)
    struct faults f = faults_of(
        "{stall-ms: 50, hardware: [{agent: ag2, ipu: 3, for-ms: 100, error: too hot}, {agent: 'ag1?'}]}");
    AUTO(mem) char *one = faults_of_ipu(&f, "ag2", 3, 1099);
    AUTO(mem) char *agent = faults_of_ipu(&f, "ag16", 0, 99999);

    CHECK_STR_EQ(one, "agent ag2: IPU 3: too hot");
    CHECK_STR_EQ(agent, "agent ag16: not responding");
    CHECK(!faults_of_ipu(&f, "ag2", 2, 1000) && !faults_of_ipu(&f, "ag2", 3, 1100));
    CHECK(faults_is_stalled(&f, 1049) && !faults_is_stalled(&f, 1050));
    CHECK_INT_EQ(faults_next_ms(&f, 1000), 1050);
    CHECK_INT_EQ(faults_next_ms(&f, 1050), 1100);
    CHECK_INT_EQ(faults_next_ms(&f, 1100), -1);
    CHECK(faults_have_hardware(&f, 99999));
}

/* What is written can be read again, and what it says then is what was left. */
TEST(what_is_written_is_what_is_left)
{
    AUTO(faults)
    struct faults f = faults_of("{seed: 5, stall-ms: 100, forget: true, quirks: {unknown-status: true},\n"
                                " calls: [{times: 2, status: INTERNAL}, {times: 1, late-ms: 1}],\n"
                                " partitions: [{on: now}, {on: remove, partition: a*, error: stuck}],\n"
                                " hardware: [{agent: ag1, for-ms: 40}, {agent: ag2, ipu: 0}]}");
    AUTO(str) struct str text = {0};
    AUTO(str) struct str again = {0};
    AUTO(faults) struct faults g = {0};
    AUTO(json) cJSON *is = NULL, *want = NULL;
    struct err err;

    f.forget = false; /* done */
    faults_on_call(&f, "GetVersion", "");
    faults_print(&f, 1040, &text);
    want = json_parse(
        SLICE_LIT("{\"seed\": 5, \"stall-ms\": 60, \"quirks\": {\"unknown-status\": true},"
                  "\"calls\": [{\"times\": 1, \"status\": \"INTERNAL\"}],"
                  "\"partitions\": [{\"partition\": \"a*\", \"on\": \"remove\", \"error\": \"stuck\"}],"
                  "\"hardware\": [{\"agent\": \"ag2\", \"ipu\": 0}]}"),
        &err);
    is = json_parse(str_slice(&text), &err);
    CHECK(want && is);
    if (!json_equal(is, want))
        CHECK_FAIL("it says %s", str_text(&text));
    g = faults_of(str_text(&text));
    faults_print(&g, 1000, &again);
    CHECK_STR_EQ(str_text(&again), str_text(&text));
}

TEST(nothing_is_no_faults)
{
    AUTO(faults) struct faults none = faults_of("");
    AUTO(str) struct str text = {0};

    CHECK(!faults_is_stalled(&none, 1000) && faults_next_ms(&none, 1000) == -1);
    faults_print(&none, 1000, &text);
    CHECK_STR_EQ(str_text(&text), "{\n}\n");
}

TEST(every_mistake_has_its_line)
{
    static const struct {
        const char *yaml, *problem;
    } rows[] = {
        {"[]", "test: line 1: expected settings"},
        {"stal: true", "unknown setting \"stal\"; did you mean \"stall\"?"},
        {"{stall: true, stall-ms: 5}", "stall and stall-ms are mutually exclusive"},
        {"stall-ms: 600001", "stall-ms must be a number from 0 to 600000"},
        {"forget: 1", "forget must be true or false"},
        {"quirks: {nice: true}", "unknown setting \"nice\""},
        {"calls:\n- {}", "test: line 2: rule has no effect"},
        {"calls: [{method: CreatPartition, drop: true}]",
         "unknown method \"CreatPartition\"; did you mean \"CreatePartition\"?"},
        {"calls: [{status: NOPE}]", "status must be OK, CANCELLED"},
        {"calls: [{status: INTERNAL, drop: true}]", "status and drop are mutually exclusive"},
        {"calls: [{late-ms: 4, takes-effect: true}]", "takes-effect requires"},
        {"calls: [{late-ms: 4, message: x}]", "message requires status"},
        {"calls: [{late-ms: 4, late-up-to-ms: 3}]", "late-up-to-ms is less than late-ms"},
        {"calls: [{chance: 101, drop: true}]", "chance must be a number from 0 to 100"},
        {"calls: 5", "calls must be a list"},
        {"partitions: [{on: never}]", "on must be now, create, reset or remove"},
        {"hardware: [{ipu: 1}]", "agent is required for hardware"},
        {"hardware: [{agent: ag17}]", "unknown agent \"ag17\"; did you mean \"ag1\"?"},
        {"hardware: [{agent: ag1, ipu: 4}]", "ipu must be a number from 0 to 3"},
        {"{", "test: line"},
    };

    CHECK_ROWS (row, rows) {
        struct server_config config = server_config_default();
        AUTO(strv) struct strv problems = {0};
        struct faults faults;

        CHECK(!faults_read(slice_of(row->yaml), "test", &config.clusters, &faults, &problems));
        CHECK_HAS(problems.items[0], row->problem);
        server_config_release(&config);
    }
}

TEST(too_many_rules)
{
    struct server_config config = server_config_default();
    AUTO(strv) struct strv problems = {0};
    AUTO(str) struct str yaml = {0};
    struct faults faults;

    str_adds(&yaml, "calls:\n");
    for (unsigned i = 0; i <= FAULTS_MAX_RULES; i++)
        str_adds(&yaml, "- drop: true\n");
    CHECK(!faults_read(str_slice(&yaml), "test", &config.clusters, &faults, &problems));
    CHECK_HAS(problems.items[0], "257 rules in calls, at most 256");
    server_config_release(&config);
}
