#include "operator/api/partition/orphan.h"

#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

#define PAGE                                                                                                 \
    "{\"controllers\":[{\"name\":\"a:1\",\"up\":true},{\"name\":\"b:1\",\"up\":%s}],\"partitions\":["        \
    "{\"controller\":\"a:1\",\"id\":\"p-old-team-0\",\"ipus\":4,\"gcds\":1,\"state\":\"ACTIVE\","            \
    "\"couldBeOf\":[\"team/old\"],\"pod\":\"team/old-worker-0\"},"                                           \
    "{\"controller\":\"a:1\",\"id\":\"twice\",\"ipus\":1,\"gcds\":1,\"state\":\"ERROR\",\"couldBeOf\":[]},"  \
    "{\"controller\":\"b:1\",\"id\":\"twice\",\"ipus\":2,\"gcds\":1,\"state\":\"ACTIVE\",\"couldBeOf\":[]}," \
    "{\"controller\":\"a:1\",\"id\":\"ours\",\"ipus\":8,\"gcds\":1,\"state\":\"ACTIVE\",\"job\":\"team/"     \
    "new\","                                                                                                 \
    "\"instance\":0,\"releasing\":false},"                                                                   \
    "{\"controller\":\"a:1\",\"id\":\"going\",\"ipus\":8,\"gcds\":1,\"state\":\"ACTIVE\",\"job\":\"\","      \
    "\"instance\":0,\"releasing\":true}]}"

static cJSON *page(bool all_up)
{
    AUTO(mem) char *text = mem_printf(PAGE, all_up ? "true" : "false");
    struct err err = {0};
    cJSON *doc = json_parse(slice_of(text), &err);

    CHECK_OK(doc, err);
    return doc;
}

TEST(only_what_has_no_record_is_found)
{
    static const struct {
        const char *id, *controller;
        bool all_up;
        const char *complaint; /* part of it; NULL: found */
    } rows[] = {
        {"p-old-team-0", NULL, true, NULL},
        {"twice", "b:1", true, NULL},
        {"twice", NULL, true, "partition twice exists on a:1 and b:1"},
        {"p-old-team-0", "b:1", true, "partition p-old-team-0 not found"},
        {"p-old-team", NULL, true, "partition p-old-team not found;"},
        {"nowhere", NULL, false, "these V-IPU controllers are not responding: b:1"},
        {"ours", NULL, true, "belongs to IPUJob team/new"},
        {"going", NULL, true, "is already being released"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(json) cJSON *doc = page(row->all_up);
        AUTO(orphan) struct orphan orphan = {0};
        struct err err = {0};
        bool found = orphan_find(doc, row->id, row->controller, &orphan, &err);

        CHECK(found == (row->complaint == NULL));
        if (row->complaint)
            CHECK(strstr(err.msg, row->complaint));
        else
            CHECK_STR_EQ(orphan.id, row->id);
    }
}

TEST(an_orphan_is_what_the_page_describes)
{
    AUTO(json) cJSON *doc = page(true);
    AUTO(orphan) struct orphan orphan = {0};
    AUTO(str) struct str table = {0};
    struct err err = {0};

    CHECK_OK(orphan_find(doc, "p-old-team-0", NULL, &orphan, &err), err);
    CHECK_STR_EQ(orphan.controller, "a:1");
    CHECK_STR_EQ(orphan.state, "ACTIVE");
    CHECK_STR_EQ(orphan.pod, "team/old-worker-0");
    CHECK_INT_EQ(orphan.ipus, 4);
    CHECK_INT_EQ(orphan.jobs.count, 1);
    CHECK_INT_EQ(orphan_print_all(doc, &table), 3);
    CHECK(strstr(str_text(&table), "team/old"));
    CHECK(!strstr(str_text(&table), "ours"));
}

static struct pod *pod(const char *name, const char *owner, const char *phase)
{
    AUTO(mem)
    char *text = mem_printf(
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"team\",\"uid\":\"u\",\"ownerReferences\":[{"
        "\"apiVersion\":\"graphcore.ai/v1alpha1\",\"kind\":\"IPUJob\",\"name\":\"%s\",\"uid\":\"j\","
        "\"controller\":true}]},\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"%s\","
        "\"containerStatuses\":[{\"name\":\"c\",\"state\":{\"%s\":{}}}]}}",
        name, owner, phase, str_eq(phase, "Running") ? "running" : "terminated");
    struct err err = {0};
    AUTO(json) cJSON *doc = json_parse(slice_of(text), &err);

    CHECK_OK(doc, err);
    return pod_parse(doc);
}

TEST(a_pod_of_the_job_that_may_still_run_uses_it)
{
    static const struct {
        const char *name, *owner, *phase, *job;
        bool uses;
    } rows[] = {
        {"anything", "old", "Running", "team/old", true},
        {"anything", "old", "Succeeded", "team/old", false},
        {"anything", "other", "Running", "team/old", false},
        {"old-worker-0", "other", "Running", "team/old", true},
        {"old-launcher", "other", "Running", "team/old", true},
        {"older-worker-0", "other", "Running", "team/old", false},
        {"old-worker-0", "other", "Running", "elsewhere/old", false},
    };

    CHECK_ROWS (row, rows) {
        AUTO(pod) struct pod *made = pod(row->name, row->owner, row->phase);

        CHECK(orphan_is_used_by(made, row->job) == row->uses);
    }
}

TEST(what_may_be_used_is_not_released)
{
    struct orphan free = {.id = (char *)"p-old-team-0"};
    struct orphan used = {.id = (char *)"p-old-team-0", .pod = (char *)"team/old-worker-0"};
    struct orphan odd = {.id = (char *)"My_Partition"};
    AUTO(strv) struct strv nobody = {0};
    AUTO(strv) struct strv users = {0};
    AUTO(strv) struct strv problems = {0};

    orphan_check_release(&free, &nobody, &problems);
    CHECK_INT_EQ(problems.count, 0);
    orphan_check_release(&odd, &nobody, &problems);
    CHECK_INT_EQ(problems.count, 1);
    strv_push(&users, "team/old-worker-0");
    strv_push(&users, "team/old-worker-1");
    orphan_check_release(&used, &users, &problems);
    CHECK_INT_EQ(problems.count, 3); /* each pod once */
}

#define VENDORS "\"launcherStatus\":\"Running\",\"startTime\":\"2023-06-01T10:00:00Z\""

static struct job *job(const char *spec, const char *metadata, const char *status)
{
    AUTO(mem)
    char *text = mem_printf(
        "{\"metadata\":{\"name\":\"old\",\"namespace\":\"team\",\"uid\":\"u1\"%s},\"spec\":{%s,\"workers\":{"
        "\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}},\"status\":{%s}}",
        metadata, spec, status);
    struct err err = {0};
    AUTO(json) cJSON *doc = json_parse(slice_of(text), &err);

    CHECK_OK(doc, err);
    return job_parse(doc);
}

TEST(a_partition_is_given_to_the_job_that_it_fits)
{
    static const char *const one = "\"jobInstances\":1,\"ipusPerJobInstance\":\"4\"";
    static const struct {
        const char *spec, *metadata, *status;
        const char *id;
        uint32_t ipus, gcds;
        const char *has; /* a partition of instance 0 that there is already */
        size_t problems;
        const char *first;
    } rows[] = {
        {one, "", VENDORS, "p-old-team-0", 4, 1, NULL, 0, NULL},
        {one, "", VENDORS, "my-p-old-team-0", 4, 1, NULL, 0, NULL},
        {one, "", VENDORS, "p-old-team-0", 8, 1, NULL, 1,
         "IPUs do not match: the partition has 8, an instance of the job needs 4"},
        {one, "", VENDORS, "p-old-team-0", 4, 2, NULL, 1,
         "GCDs do not match: the partition has 2, an instance of the job needs 1"},
        {one, "", VENDORS, "p-old-team-1", 4, 1, NULL, 1, "instance index 1 is out of range"},
        {one, "", VENDORS, "other", 4, 1, NULL, 1, "the ID does not match PREFIX-old-team-INSTANCE"},
        {one, "", VENDORS, "p-cold-team-0", 4, 1, NULL, 1, "the ID does not match"},
        {one, "", VENDORS, "p-old-team-0", 4, 1, "q", 1, "instance 0 already has partition q"},
        {one, "", "", "p-old-team-0", 4, 1, NULL, 1, "the job is managed by this operator"},
        {one, ",\"deletionTimestamp\":\"2026-01-01T10:00:00Z\"", VENDORS, "p-old-team-0", 4, 1, NULL, 1,
         "the job is being deleted"},
        {"\"jobInstances\":1,\"ipusPerJobInstance\":\"3\"", "", VENDORS, "p-old-team-0", 4, 1, NULL, 1,
         "the job's spec is invalid: "},
        {one, "", "", "p-old-team-7", 8, 2, NULL, 4, "the job is managed by this operator"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(job) struct job *made = job(row->spec, row->metadata, row->status);
        AUTO(mem)
        char *text = mem_printf("{\"partitions\":[{\"id\":\"%s\",\"job\":\"%s\",\"instance\":0}]}",
                                row->has ? row->has : "another", row->has ? "team/old" : "team/another");
        struct err err = {0};
        AUTO(json) cJSON *all = json_parse(slice_of(text), &err);
        AUTO(strv) struct strv problems = {0};
        struct orphan orphan = {.id = (char *)(uintptr_t)row->id, .ipus = row->ipus, .gcds = row->gcds};

        orphan_check_adoption(&orphan, made, all, &problems);
        CHECK_INT_EQ(problems.count, row->problems);
        if (row->first)
            CHECK(problems.count && str_has_prefix(problems.items[0], row->first));
    }
}

TEST(the_records_name_the_owner)
{
    struct orphan orphan = {.id = (char *)"p-old-team-1", .controller = (char *)"a:1", .ipus = 4, .gcds = 1};
    AUTO(job) struct job *owner = job("\"jobInstances\":2,\"ipusPerJobInstance\":\"4\"", "", VENDORS);
    AUTO(record) struct record *released = orphan_record_of_release(&orphan);
    AUTO(record) struct record *adopted = orphan_record_of_job(&orphan, owner);
    AUTO(json) cJSON *body = record_build(released, "ops");
    AUTO(record) struct record *read = record_parse(body);

    CHECK(read && record_is_ownerless(read) && read->releasing && read->started);
    CHECK_INT_EQ(record_pod_count(read), 0);
    CHECK_INT_EQ(read->size, 4);
    CHECK(!record_is_ownerless(adopted) && !adopted->releasing && !adopted->started);
    CHECK_STR_EQ(adopted->job_uid, "u1");
    CHECK_INT_EQ(adopted->instance, 1);
    CHECK_INT_EQ(adopted->workers, 1);
}
