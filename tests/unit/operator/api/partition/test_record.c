#include "operator/api/partition/record.h"

#include "base/core/mem.h"
#include "lib/check.h"
#include "operator/api/names.h"

static struct record full(void)
{
    return (struct record){
        .name = mem_strdup("p-train-team-0"),
        .uid = mem_strdup("uid-of-map"),
        .controller = mem_strdup("10.1.2.3:8090"),
        .job_ns = mem_strdup("team"),
        .job_name = mem_strdup("train"),
        .job_uid = mem_strdup("uid-of-job"),
        .instance = 7,
        .attempt = 2,
        .run = 3,
        .start = 5,
        .restarts = 1,
        .workers = 4,
        .has_launcher = true,
        .place = mem_strdup("cl1/3/0"),
        .size = 64,
        .gcds = 4,
        .replicas = 16,
        .reconfigurable = true,
        .limit_s = 3600,
        .grace_s = 30,
        .started = true,
        .launched = true,
        .outcome_unknown = true,
        .releasing = true,
        .spent_s = 1790000500,
        .reason = mem_strdup("TerminationUnconfirmed"),
        .disruption = mem_strdup("Preempted"),
        .disrupted_pod = mem_strdup("train-worker-3"),
        .disrupted_s = 1790000000,
        .priority = -7,
        .preemptor = mem_strdup("prod/urgent"),
        .preemptions = 2,
    };
}

static void check_same(const struct record *a, const struct record *b)
{
    CHECK_STR_EQ(a->name, b->name);
    CHECK_STR_EQ(a->controller, b->controller);
    CHECK_STR_EQ(a->place, b->place);
    CHECK_STR_EQ(a->job_ns, b->job_ns);
    CHECK_STR_EQ(a->job_name, b->job_name);
    CHECK_STR_EQ(a->job_uid, b->job_uid);
    CHECK_INT_EQ(a->instance, b->instance);
    CHECK_INT_EQ(a->attempt, b->attempt);
    CHECK_INT_EQ(a->run, b->run);
    CHECK_INT_EQ(a->start, b->start);
    CHECK_INT_EQ(a->restarts, b->restarts);
    CHECK_INT_EQ(a->priority, b->priority);
    CHECK_STR_EQ(a->preemptor, b->preemptor);
    CHECK_INT_EQ(a->preemptions, b->preemptions);
    CHECK_INT_EQ(a->workers, b->workers);
    CHECK_INT_EQ(a->size, b->size);
    CHECK_INT_EQ(a->gcds, b->gcds);
    CHECK_INT_EQ(a->replicas, b->replicas);
    CHECK_INT_EQ(a->reconfigurable, b->reconfigurable);
    CHECK_INT_EQ(a->limit_s, b->limit_s);
    CHECK_INT_EQ(a->grace_s, b->grace_s);
    CHECK_INT_EQ(a->has_launcher, b->has_launcher);
    CHECK_INT_EQ(a->started, b->started);
    CHECK_INT_EQ(a->launched, b->launched);
    CHECK_INT_EQ(a->outcome_unknown, b->outcome_unknown);
    CHECK_INT_EQ(a->releasing, b->releasing);
    CHECK_INT_EQ(a->spent_s, b->spent_s);
    CHECK_STR_EQ(a->reason, b->reason);
    CHECK_STR_EQ(a->disruption, b->disruption);
    CHECK_STR_EQ(a->disrupted_pod, b->disrupted_pod);
    CHECK_INT_EQ(a->disrupted_s, b->disrupted_s);
}

/* A record travels as a ConfigMap and comes back the same. */
TEST(a_record_survives_the_api_server)
{
    AUTO(record) struct record *record = NEW(struct record);

    *record = full();
    AUTO(json) cJSON *object = record_build(record, "ipu-system");
    CHECK_STR_EQ(json_str(object, "kind", ""), "ConfigMap");
    CHECK_STR_EQ(json_str(object, "metadata/name", ""), "p-train-team-0");
    CHECK_STR_EQ(json_str(object, "metadata/namespace", ""), "ipu-system");
    CHECK_STR_EQ(json_str(object, "metadata/labels/graphcore.ai~1partition-record", ""), "true");
    CHECK(!json_at(object, "metadata/uid"));
    JSON_EACH (item, json_at(object, "data"))
        CHECK(cJSON_IsString(item)); /* the API server takes nothing else */

    json_put_str(json_at_mut(object, "metadata"), "uid", "uid-of-map");
    json_put_str(json_at_mut(object, "metadata"), "resourceVersion", "42");
    AUTO(record) struct record *back = record_parse(object);
    check_same(back, record);
    CHECK_STR_EQ(back->uid, "uid-of-map");
    CHECK_STR_EQ(back->resource_version, "42");
    CHECK_STR_EQ(back->job_key, "team/train");
}

TEST(a_copy_is_the_same_and_its_own)
{
    AUTO(record) struct record *record = NEW(struct record);

    *record = full();
    AUTO(record) struct record *copy = record_copy(record);
    check_same(copy, record);
    mem_set_str(&record->name, "another");
    CHECK_STR_EQ(copy->name, "p-train-team-0");
}

/* What a record is about never changes; only how it stands does, and only for the very object. */
TEST(a_patch_says_only_what_changes)
{
    AUTO(record) struct record *record = NEW(struct record);

    *record = full();
    AUTO(json) cJSON *patch = record_patch(record);
    AUTO(mem) char *text = json_print(patch);
    CHECK_STR_EQ(
        text,
        "{\"metadata\":{\"uid\":\"uid-of-map\"},\"data\":{\"run\":\"3\",\"start\":\"5\",\"restarts\":\"1\","
        "\"started\":\"true\",\"launched\":\"true\",\"unsettled\":\"true\",\"releasing\":\"true\","
        "\"reason\":\"TerminationUnconfirmed\",\"preemptor\":\"prod/"
        "urgent\",\"preemptions\":\"2\",\"spentAt\":\"1790000500\",\"disruption\":\"Preempted\","
        "\"disruptedPod\":\"train-worker-3\",\"disruptedAt\":\"1790000000\"}}");
}

/* Else one that arrives late would undo what was written since. */
TEST(a_patch_is_for_the_version_that_was_seen)
{
    AUTO(record) struct record *record = NEW(struct record);

    *record = full();
    mem_set_str(&record->resource_version, "4711");
    AUTO(json) cJSON *patch = record_patch(record);
    CHECK_STR_EQ(json_str(patch, "metadata/uid", ""), "uid-of-map");
    CHECK_STR_EQ(json_str(patch, "metadata/resourceVersion", ""), "4711");
}

/* A merge patch keeps what it does not name. */
TEST(a_patch_names_the_disruption_that_is_over)
{
    AUTO(record) struct record *record = NEW(struct record);

    *record = full();
    mem_set_str(&record->disruption, NULL);
    AUTO(json) cJSON *patch = record_patch(record);
    CHECK(cJSON_IsNull(json_at(patch, "data/disruption")));
    CHECK(cJSON_IsNull(json_at(patch, "data/disruptedPod")));
    CHECK(cJSON_IsNull(json_at(patch, "data/disruptedAt")));
    AUTO(json) cJSON *object = record_build(record, "ipu-system");
    CHECK(!json_at(object, "data/disruption"));
}

TEST(a_config_map_of_another_owner_is_no_record)
{
    static const char *const texts[] = {
        "{}",
        "{\"metadata\":{\"name\":\"a\"},\"data\":{\"jobUid\":\"u\"}}",
        "{\"metadata\":{\"name\":\"a\"},\"data\":{\"controller\":\"c\"}}",
        "{\"metadata\":{},\"data\":{\"jobUid\":\"u\",\"controller\":\"c\"}}",
        "{\"metadata\":{\"name\":\"a\"},\"data\":[\"jobUid\"]}",
    };

    CHECK_ROWS (text, texts) {
        struct err err = {0};
        AUTO(json) cJSON *object = json_parse(slice_of(*text), &err);

        CHECK_OK(object, err);
        CHECK(!record_parse(object));
    }
}

TEST(what_cannot_be_read_counts_as_nothing)
{
    struct err err = {0};
    AUTO(json)
    cJSON *object = json_parse(
        SLICE_LIT(
            "{\"metadata\":{\"name\":\"a\"},\"data\":{\"jobUid\":\"u\",\"controller\":\"c\",\"size\":\"-4\","
            "\"run\":\"x\",\"workers\":\"4294967295\",\"started\":\"yes\",\"gcds\":4}}"),
        &err);
    AUTO(record) struct record *record = record_parse(object);

    CHECK_INT_EQ(record->size, 0);
    CHECK_INT_EQ(record->run, 0);
    CHECK_INT_EQ(record->gcds, 0);
    CHECK_INT_EQ(record_pod_count(record), 0);
    CHECK(!record->started);
    CHECK_STR_EQ(record->uid, "");
    CHECK(!record->reason);
}

TEST(not_every_id_can_be_the_name_of_a_record)
{
    static const char *const good[] = {"p-train-team-0", "0", "p.1", "a--b"};
    static const char *const bad[] = {"",   "My_Partition", "-a",   "a-",   ".a",
                                      "a.", "a..b",         "a.-b", "a-.b", "a/b"};

    for (size_t i = 0; i < COUNT_OF(good); i++)
        CHECK(record_can_have_name(good[i]));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        CHECK(!record_can_have_name(bad[i]));
}

TEST(who_is_releasing_holds_ipus_only_while_the_partition_exists)
{
    static char nobody[] = RECORD_NO_JOB_UID, job[] = "job";
    static const struct {
        struct record record;
        bool is_listed, holds;
    } rows[] = {{{.job_uid = job}, false, true},
                {{.job_uid = job, .releasing = true}, true, true},
                {{.job_uid = job, .releasing = true}, false, false},
                {{.job_uid = job, .releasing = true, .spent_s = 7}, true, false},
                {{.job_uid = nobody}, true, false}};

    CHECK_ROWS (row, rows)
        CHECK_INT_EQ(record_holds_ipus(&row->record, row->is_listed), row->holds);
}
