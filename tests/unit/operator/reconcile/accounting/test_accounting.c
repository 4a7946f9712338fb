#include "operator/reconcile/accounting/accounting.h"

#include "lib/check.h"

static struct record record_of(char *ns, uint32_t size)
{
    return (struct record){.job_ns = ns, .job_uid = "uid", .size = size};
}

static const struct account *account(const struct accounting *accounting, const char *ns)
{
    return map_get(&accounting->accounts, ns);
}

TEST(ipu_seconds_add_up_while_partitions_are_held)
{
    struct accounting a = {0};
    struct record four = record_of("team", 4), two = record_of("team", 2), other = record_of("rest", 1);

    accounting_note_record(&a, NULL, &four, 1000);
    accounting_note_record(&a, NULL, &two, 11000);
    accounting_note_record(&a, NULL, &other, 11000);
    CHECK_INT_EQ(account(&a, "team")->ipus, 6);
    CHECK(account_ipu_seconds(account(&a, "team"), 12500) == 4 * 11.5 + 2 * 1.5);
    accounting_note_record(&a, &four, NULL, 13000);
    CHECK_INT_EQ(account(&a, "team")->ipus, 2);
    CHECK(account_ipu_seconds(account(&a, "team"), 14000) == 4 * 12 + 2 * 3);
    CHECK(account_ipu_seconds(account(&a, "rest"), 14000) == 3);
    accounting_release(&a);
}

TEST(an_id_without_a_partition_holds_nothing)
{
    struct accounting a = {0};
    struct record held = record_of("team", 4), spent = held, orphan = held;

    spent.spent_s = 5;
    orphan.job_uid = RECORD_NO_JOB_UID;
    accounting_note_record(&a, NULL, &held, 0);
    accounting_note_record(&a, &held, &spent, 1000);
    accounting_note_record(&a, &spent, NULL, 2000);
    accounting_note_record(&a, NULL, &orphan, 2000);
    CHECK_INT_EQ(account(&a, "team")->ipus, 0);
    CHECK(account_ipu_seconds(account(&a, "team"), 9000) == 4);
    accounting_release(&a);
}

/* Its record stays, whether it was preempted, has given its IPUs up, or was rejected. */
TEST(an_instance_holds_nothing_while_it_waits)
{
    struct accounting a = {0};
    struct record held = record_of("team", 4), preempted = held, releasing = held;

    preempted.preemptor = "team/urgent";
    releasing.releasing = true;
    accounting_note_record(&a, NULL, &held, 0);
    accounting_note_record(&a, &held, &preempted, 1000);
    CHECK_INT_EQ(account(&a, "team")->ipus, 4); /* its pods are being stopped */
    accounting_note_record(&a, &preempted, &releasing, 2000);
    CHECK_INT_EQ(account(&a, "team")->ipus, 0);
    accounting_note_record(&a, &releasing, NULL, 9000);
    CHECK_INT_EQ(account(&a, "team")->ipus, 0);
    CHECK(account_ipu_seconds(account(&a, "team"), 9000) == 4 * 2);
    accounting_release(&a);
}

TEST(many_namespaces_share_one_account)
{
    struct accounting a = {0};
    struct record record = record_of(NULL, 1);

    for (int i = 0; i < ACCOUNTING_NAMESPACES_MAX + 2; i++) {
        record.job_ns = mem_printf("ns-%d", i);
        accounting_note_record(&a, NULL, &record, 0);
        mem_free(record.job_ns);
    }
    CHECK_INT_EQ(a.accounts.count, ACCOUNTING_NAMESPACES_MAX + 1);
    CHECK_INT_EQ(account(&a, ACCOUNTING_OTHERS)->ipus, 2);
    record.job_ns = "ns-501";
    accounting_note_record(&a, &record, NULL, 0);
    CHECK_INT_EQ(account(&a, ACCOUNTING_OTHERS)->ipus, 1);
    accounting_release(&a);
}

static struct job *job_in(const char *state, const char *reason)
{
    AUTO(json) cJSON *object = json_object();
    cJSON *metadata = json_put_object(object, "metadata"), *status = json_put_object(object, "status");

    json_put_str(metadata, "namespace", "team");
    json_put_str(metadata, "name", "job");
    json_put_str(metadata, "uid", "uid");
    json_put_i64(status, "observedGeneration", 1); /* the vendor's operator writes none */
    json_put_str(status, "launcherStatus", state);
    json_put_str(status, "reason", reason);
    return job_parse(object);
}

static uint64_t failed(const struct accounting *accounting, const char *reason)
{
    return accounting->failed ? accounting->failed[reason_find(reason) - reasons] : 0;
}

TEST(ended_jobs_are_counted_once_by_reason)
{
    struct accounting a = {0};
    AUTO(job) struct job *runs = job_in("Running", "Running");
    AUTO(job) struct job *done = job_in("Completed", "Completed");
    AUTO(job) struct job *fails = job_in("Failed", "OOMKilled");
    AUTO(job) struct job *odd = job_in("Failed", "NoSuchReason");

    accounting_note_job(&a, runs, done);
    accounting_note_job(&a, done, done);
    accounting_note_job(&a, runs, fails);
    accounting_note_job(&a, fails, fails);
    accounting_note_job(&a, runs, odd);
    accounting_note_job(&a, done, runs);
    CHECK_INT_EQ(a.completed, 1);
    CHECK_INT_EQ(failed(&a, "OOMKilled"), 1);
    CHECK_INT_EQ(failed(&a, "DeadlineExceeded"), 0);
    CHECK_INT_EQ(a.failed[reason_count], 1);
    accounting_release(&a);
}

TEST(restarts_are_counted_by_reason)
{
    struct accounting a = {0};

    accounting_note_restart(&a, "OOMKilled");
    accounting_note_restart(&a, "OOMKilled");
    accounting_note_restart(&a, "NoSuchReason");
    CHECK_INT_EQ(a.restarts[reason_find("OOMKilled") - reasons], 2);
    CHECK_INT_EQ(a.restarts[reason_count], 1);
    accounting_release(&a);
}
