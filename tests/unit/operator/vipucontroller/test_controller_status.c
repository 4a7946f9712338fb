#include "operator/vipucontroller/controller_status.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

#define NOW_S 1763897400 /* 2025-11-23T11:30:00Z */

/* A domain of 64 IPUs: IPUs 0 to 3 are a job's, IPU 8 is somebody's. */
struct scene {
    struct vipu_ipu ipus[5];
    struct vipu_partition listed[2];
    struct controller_partition partitions[2];
    struct vipu_pool_view pool;
    struct cordon cordon;
    struct controller_facts facts;
    struct controller_publication how;
    cJSON *status;
};

static void scene_init(struct scene *s)
{
    static char ours[] = "p-digits-ml-0", theirs[] = "theirs", cluster[] = "c";

    *s = (struct scene){0};
    for (uint32_t i = 0; i < 5; i++)
        s->ipus[i].topology_id = i < 4 ? i : 8;
    s->listed[0] = (struct vipu_partition){
        .id = ours, .cluster_id = cluster, .size = 4, .ready_state = VIPU_READY_ACTIVE, .ipus = s->ipus};
    s->listed[1] = (struct vipu_partition){.id = theirs,
                                           .cluster_id = cluster,
                                           .size = 1,
                                           .ready_state = VIPU_READY_ACTIVE,
                                           .ipus = &s->ipus[4]};
    s->partitions[0] = (struct controller_partition){&s->listed[0], true, "ml", "ml/digits", NOW_S + 60};
    s->partitions[1] = (struct controller_partition){.listed = &s->listed[1], .until_s = FORECAST_UNKNOWN};
    s->pool = vipu_pool_view_of(&(const struct vipu_partitions){s->listed, 2},
                                (struct vipu_pool_shape){.total_ipus = 64});
    s->facts = (struct controller_facts){.address = "vipu0:8090",
                                         .is_known = true,
                                         .listed_unix_s = NOW_S,
                                         .version = "1.18.0",
                                         .cordon = &s->cordon,
                                         .pool = &s->pool,
                                         .waiting = 5,
                                         .partitions = s->partitions,
                                         .partition_count = 2};
}

static void scene_release(struct scene *s)
{
    vipu_pool_view_release(&s->pool);
    cordon_release(&s->cordon);
    cJSON_Delete(s->status);
}

static void cordon(struct scene *s, const char *text)
{
    cordon_parse(text, &s->cordon);
    cordon_apply(&s->cordon, &s->pool);
}

/* The status that follows the present one. */
static const cJSON *next(struct scene *s, int64_t now_unix_s)
{
    cJSON *before = s->status;

    s->status = controller_status(&s->facts, &s->how, before, now_unix_s);
    cJSON_Delete(before);
    return s->status;
}

static const char *condition(const cJSON *status, const char *type, const char *field)
{
    JSON_EACH (row, json_at(status, "conditions")) {
        if (str_eq(json_str(row, "type", ""), type))
            return json_str(row, field, "");
    }
    return "absent";
}

TEST_F(scene, s, numbers_places_and_health_are_reported)
{
    const cJSON *status = next(s, NOW_S);
    const cJSON *first = json_at(status, "partitions")->child;

    CHECK_STR_EQ(json_str(status, "address", ""), "vipu0:8090");
    CHECK_STR_EQ(json_str(status, "version", ""), "1.18.0");
    CHECK_INT_EQ(json_i64(status, "ipus/total", -1), 64);
    CHECK_INT_EQ(json_i64(status, "ipus/free", -1), 59);
    CHECK_INT_EQ(json_i64(status, "ipus/ours", -1), 4);
    CHECK_INT_EQ(json_i64(status, "ipus/others", -1), 1);
    CHECK_INT_EQ(json_i64(status, "ipus/largestFree", -1), 32);
    CHECK_STR_EQ(json_str(json_at(status, "domains")->child, "free", ""), "fffffffffffffef0");
    CHECK_STR_EQ(json_str(first, "id", ""), "p-digits-ml-0");
    CHECK_STR_EQ(json_str(first, "job", ""), "ml/digits");
    CHECK_STR_EQ(json_str(json_at(first, "places")->child, "ipus", ""), "000000000000000f");
    CHECK_STR_EQ(json_str(first, "until", ""), "2025-11-23T11:31:00Z");
    CHECK(!json_at(first->next, "until"));
    CHECK_INT_EQ(json_i64(status, "waiting", -1), 5);
    CHECK_STR_EQ(condition(status, "Reachable", "status"), "True");
    CHECK_STR_EQ(condition(status, "Configured", "status"), "True");
    CHECK_STR_EQ(condition(status, "Healthy", "status"), "True");
    CHECK(!json_at(status, "cordon"));
}

TEST_F(scene, s, a_controller_that_chooses_ipus_says_so)
{
    CHECK_STR_EQ(condition(next(s, NOW_S), "HonorsPlaces", "status"), "True");
    s->facts.chooses = true;
    CHECK_STR_EQ(condition(next(s, NOW_S), "HonorsPlaces", "status"), "False");
    CHECK_STR_EQ(condition(s->status, "HonorsPlaces", "reason"), "ChoosesIPUs");
    s->facts.chooses = s->pool.placed = false;
    CHECK_STR_EQ(condition(next(s, NOW_S), "HonorsPlaces", "reason"), "PlacesNotReported");
    s->facts.is_known = false;
    CHECK_STR_EQ(condition(next(s, NOW_S), "HonorsPlaces", "status"), "Unknown");
}

TEST_F(scene, s, only_a_short_plain_version_is_shown)
{
    static const struct {
        const char *version, *shown;
    } rows[] = {
        {"ipu-operator 0.1.0", "ipu-operator 0.1.0"},
        {NULL, "none"},
        {"", "none"},
        {"1.18\x1b[2J", "none"},
        {"1234567890123456789012345678901234567890123456789012345678901234",
         "1234567890123456789012345678901234567890123456789012345678901234"},
        {"12345678901234567890123456789012345678901234567890123456789012345", "none"},
    };

    CHECK_ROWS (row, rows) {
        s->facts.version = row->version;
        CHECK_STR_EQ(json_str(next(s, NOW_S), "version", "none"), row->shown);
    }
}

TEST_F(scene, s, a_failed_partition_is_unhealthy)
{
    s->listed[0].ready_state = VIPU_READY_ERROR;
    CHECK_STR_EQ(condition(next(s, NOW_S), "Healthy", "message"), "1 partition has failed");
    s->listed[1].ready_state = VIPU_READY_ERROR;
    CHECK_STR_EQ(condition(next(s, NOW_S), "Healthy", "message"), "2 partitions have failed");
    CHECK_STR_EQ(condition(s->status, "Healthy", "reason"), "PartitionsFailed");
}

/* IDs contain both names. */
TEST_F(scene, s, names_are_visible_as_far_as_they_may_be)
{
    static const struct {
        enum controller_visibility visibility;
        bool has_job, has_namespace;
    } rows[] = {{CONTROLLER_NAMES, true, true},
                {CONTROLLER_NAMESPACES, false, true},
                {CONTROLLER_SIZES, false, false}};

    cordon(s, "true");
    CHECK_ROWS (row, rows) {
        AUTO(mem) char *text = NULL;

        s->how.visibility = row->visibility;
        text = json_print(next(s, NOW_S));
        CHECK_INT_EQ(strstr(text, "digits") != NULL, row->has_job);
        CHECK_INT_EQ(strstr(text, "theirs") != NULL, row->has_job);
        CHECK_INT_EQ(strstr(text, "ml") != NULL, row->has_namespace);
    }
}

/* In percent of all; who has less than half a percent is left out. */
TEST_F(scene, s, shares_are_shown_as_far_as_names_may_be)
{
    struct share items[] = {{"ml", 5900, 1}, {"cv", 4000, 2}, {"new", 10, 1}};
    const struct share_list shares = {
        .items = items, .count = COUNT_OF(items), .others_ipu_s = 90, .half_life_s = 604800};
    AUTO(mem) char *text = NULL;

    s->facts.shares = &shares;
    text = json_print(json_at(next(s, NOW_S), "shares"));
    CHECK_STR_EQ(text, "{\"halfLifeSeconds\":604800,\"namespaces\":[{\"namespace\":\"ml\",\"usedPercent\":"
                       "59,\"weight\":1},{\"namespace\":\"cv\",\"usedPercent\":40,\"weight\":2}]}");
    s->how.visibility = CONTROLLER_SIZES;
    CHECK(!json_at(next(s, NOW_S), "shares"));
    s->how.visibility = CONTROLLER_NAMESPACES;
    s->facts.shares = &(struct share_list){0};
    CHECK(!json_at(next(s, NOW_S), "shares"));
}

TEST_F(scene, s, a_hidden_address_is_in_no_message)
{
    AUTO(mem) char *text = NULL;

    s->how.hides_address = true;
    s->facts.is_known = false;
    s->facts.trouble = "cannot connect to vipu0:8090: Connection refused";
    text = json_print(next(s, NOW_S));
    CHECK(!strstr(text, "vipu0"));
    CHECK_STR_EQ(condition(s->status, "Reachable", "reason"), "ControllerUnavailable");
}

TEST_F(scene, s, each_state_of_the_connection_has_its_reason)
{
    s->facts.is_known = false;
    CHECK_STR_EQ(condition(next(s, NOW_S), "Reachable", "reason"), "NotAskedYet");
    s->facts.trouble = "timed out";
    CHECK_STR_EQ(condition(next(s, NOW_S), "Reachable", "reason"), "ControllerUnavailable");
    CHECK_STR_EQ(condition(s->status, "Healthy", "status"), "Unknown");
    s->facts.is_rejected = true;
    CHECK_STR_EQ(condition(next(s, NOW_S), "Reachable", "reason"), "AccessRefused");
}

TEST_F(scene, s, a_controller_that_is_not_configured_says_so)
{
    s->facts = (struct controller_facts){0};
    CHECK_STR_EQ(condition(next(s, NOW_S), "Configured", "reason"), "NotConfigured");
    CHECK(!json_at(s->status, "ipus"));
}

TEST_F(scene, s, nothing_changes_within_a_minute_of_the_same_lists)
{
    AUTO(json) cJSON *first = json_dup(next(s, NOW_S));

    s->facts.listed_unix_s = NOW_S + CONTROLLER_ANSWER_S - 1;
    CHECK(json_equal(next(s, NOW_S + CONTROLLER_ANSWER_S - 1), first));
    s->facts.listed_unix_s = NOW_S + CONTROLLER_ANSWER_S;
    CHECK_STR_EQ(json_str(next(s, NOW_S + CONTROLLER_ANSWER_S), "lastAnswerTime", ""),
                 "2025-11-23T11:31:00Z");
    CHECK_STR_EQ(condition(s->status, "Reachable", "lastTransitionTime"), "2025-11-23T11:30:00Z");
    s->facts.listed_unix_s = 0; /* a new leader */
    CHECK_STR_EQ(json_str(next(s, NOW_S + 90), "lastAnswerTime", ""), "2025-11-23T11:31:00Z");
    s->facts.listed_unix_s = NOW_S - 3600; /* its clock is behind */
    CHECK_STR_EQ(json_str(next(s, NOW_S + 90), "lastAnswerTime", ""), "2025-11-23T10:30:00Z");
}

TEST_F(scene, s, starts_of_new_jobs_stay_until_a_new_leader_knows_them)
{
    static const struct controller_start starts[] = {
        {1, "Now", FORECAST_UNKNOWN, FORECAST_UNKNOWN, FORECAST_UNKNOWN, 0},
        {2, "Later", NOW_S, NOW_S, NOW_S + 60, 0}};

    CHECK(!json_at(next(s, NOW_S), "starts"));
    s->facts.starts = starts;
    s->facts.start_count = COUNT_OF(starts);
    CHECK_STR_EQ(json_str(json_at(next(s, NOW_S), "starts")->child->next, "latest", ""),
                 "2025-11-23T11:31:00Z");
    s->facts.start_count = 0; /* a new leader */
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(next(s, NOW_S), "starts")), 2);
    s->facts.start_count = 1;
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(next(s, NOW_S), "starts")), 1);
}

TEST_F(scene, s, a_cordon_says_who_is_still_there)
{
    const cJSON *status;

    cordon(s, "ild0");
    status = next(s, NOW_S);
    CHECK_INT_EQ(json_i64(status, "ipus/free", -1), 0);
    CHECK_INT_EQ(json_i64(status, "ipus/cordoned", -1), 64);
    CHECK_STR_EQ(json_str(status, "cordon/state", ""), "Draining");
    CHECK_INT_EQ(json_i64(status, "cordon/partitions", -1), 2);
    CHECK_INT_EQ(json_i64(status, "cordon/ipus", -1), 5);
    CHECK_STR_EQ(json_str(json_at(status, "cordon/holders")->child, "name", ""), "ml/digits");
    CHECK_STR_EQ(json_at(status, "cordon/domains")->child->valuestring, "ild0");
    CHECK(json_bool(json_at(status, "domains")->child, "cordoned", false));
    s->facts.partition_count = 0;
    CHECK_STR_EQ(json_str(next(s, NOW_S), "cordon/state", ""), "Drained");
}

/* A partition without a limit may stay forever; so may its job, and the whole. */
TEST_F(scene, s, a_cordon_says_until_when_they_are_there)
{
    const cJSON *status;

    cordon(s, "ild0");
    status = next(s, NOW_S);
    CHECK(!json_at(status, "cordon/until"));
    CHECK_STR_EQ(json_str(json_at(status, "cordon/holders")->child, "until", ""), "2025-11-23T11:31:00Z");
    s->partitions[1] = (struct controller_partition){&s->listed[1], true, "ml", "ml/digits", NOW_S + 120};
    status = next(s, NOW_S);
    CHECK_STR_EQ(json_str(status, "cordon/until", ""), "2025-11-23T11:32:00Z");
    CHECK_STR_EQ(json_str(json_at(status, "cordon/holders")->child, "until", ""), "2025-11-23T11:32:00Z");
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(status, "cordon/holders")), 1);
    s->partitions[0].until_s = FORECAST_UNKNOWN;
    status = next(s, NOW_S);
    CHECK(!json_at(status, "cordon/until"));
    CHECK(!json_at(json_at(status, "cordon/holders")->child, "until"));
    s->facts.partition_count = 0;
    CHECK(!json_at(next(s, NOW_S), "cordon/until"));
}

TEST_F(scene, s, many_holders_are_cut)
{
    AUTO(mem) struct controller_partition *many = mem_alloc(101 * sizeof(*many));
    char names[101][16];

    for (size_t i = 0; i < 101; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "ml/job%zu", i);
        many[i] = (struct controller_partition){&s->listed[0], true, "ml", names[i], NOW_S};
    }
    s->facts.partitions = many;
    s->facts.partition_count = 101;
    cordon(s, "true");
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(next(s, NOW_S), "cordon/holders")), CONTROLLER_HOLDERS_MAX);
    CHECK_INT_EQ(json_i64(s->status, "cordon/partitions", -1), 101);
}

TEST_F(scene, s, a_wrong_annotation_is_reported)
{
    cordon(s, "ild3");
    CHECK_HAS(json_str(next(s, NOW_S), "cordon/message", ""), "The controller has no domain ild3");
    CHECK_STR_EQ(json_str(s->status, "cordon/state", ""), "Drained");
    CHECK_INT_EQ(json_i64(s->status, "ipus/free", -1), 59);
}

TEST_F(scene, s, without_places_the_whole_controller_is_cordoned)
{
    vipu_pool_view_release(&s->pool);
    s->pool =
        vipu_pool_view_of(&(const struct vipu_partitions){0}, (struct vipu_pool_shape){.total_ipus = 64});
    cordon(s, "ild0");
    CHECK_HAS(json_str(next(s, NOW_S), "cordon/message", ""), "The whole controller is cordoned");
    CHECK_INT_EQ(json_i64(s->status, "ipus/free", -1), 0);
}

TEST_F(scene, s, a_long_list_is_cut)
{
    AUTO(mem) struct controller_partition *many = mem_alloc(2001 * sizeof(*many));

    for (size_t i = 0; i < 2001; i++)
        many[i] = s->partitions[0];
    s->facts.partitions = many;
    s->facts.partition_count = 2001;
    CHECK_INT_EQ(cJSON_GetArraySize(json_at(next(s, NOW_S), "partitions")), CONTROLLER_PARTITIONS_MAX);
    CHECK_INT_EQ(json_i64(s->status, "morePartitions", -1), 1);
}
