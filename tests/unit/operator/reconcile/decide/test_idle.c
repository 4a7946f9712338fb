/* Instances that have nothing yet: there may be thousands of them, and they are decided about as one. */
#include "operator/api/job/indexset.h"
#include "operator/reconcile/decide/decide.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define TEMPLATE "\"workers\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}}"
#define METADATA                                                                                             \
    "\"metadata\":{\"name\":\"job\",\"namespace\":\"ns\",\"uid\":\"u\",\"generation\":1,"                    \
    "\"finalizers\":[\"graphcore.ai/ipu-partitions\"],\"annotations\":{\"graphcore.ai/operator\":\"ipu\"}}"

static struct job *parse(const char *status)
{
    struct err err = {0};
    AUTO(mem)
    char *text =
        mem_printf("{" METADATA ",\"spec\":{\"jobInstances\":10000,\"ipusPerJobInstance\":\"4\"," TEMPLATE
                   "},\"status\":%s}",
                   status);
    AUTO(json) cJSON *object = json_parse(slice_of(text), &err);

    CHECK(object);
    return job_parse(object);
}

static const struct claim_wait wait = {.reason = "Queued", .text = (char *)(uintptr_t) "Waiting for 4 IPUs"};

static struct job_view view_of(const struct job *job)
{
    return (struct job_view){.job = job,
                             .ns = job->ns,
                             .name = job->name,
                             .operator_ns = "ipu",
                             .partition_prefix = "p",
                             .instance_count = job->spec.instances,
                             .dry_run = DRY_RUN_PASSED,
                             .idle = {.claim = CLAIM_WAITING, .wait = &wait},
                             .now_ms = 1000,
                             .now_unix_s = 1000000};
}

static const struct op *find(const struct plan *plan, enum op_kind kind)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->ops[i].kind == kind)
            return &plan->ops[i];
    }
    CHECK_FAIL("no such op");
}

TEST(ten_thousand_waiting_instances_are_one_claim)
{
    static const struct {
        const char *what, *status, *claimed, *message;
    } rows[] = {
        {"new", "{}", "0-9999", "0 of 10000 instances running, 0 done; Waiting for 4 IPUs"},
        {"some have ended", "{\"completedIndexes\":\"0-99,200\",\"failedIndexes\":\"9999\"}",
         "100-199,201-9998", "0 of 10000 instances running, 101 done, 1 failed; Waiting for 4 IPUs"},
        {"an older operator wrote it", "{\"completedInstances\":\"0-99,200\",\"failedInstances\":\"9999\"}",
         "100-199,201-9998", "0 of 10000 instances running, 101 done, 1 failed; Waiting for 4 IPUs"},
        {"more than there are have ended", "{\"completedIndexes\":\"5000-20000\"}", "0-4999",
         "0 of 10000 instances running, 5000 done; Waiting for 4 IPUs"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(job) struct job *job = parse(row->status);
        struct job_view view = view_of(job);
        AUTO(plan) struct plan plan = {0};
        AUTO(mem) char *claimed = NULL;

        job_decide(&view, &plan);
        claimed = indexset_print(&find(&plan, OP_CLAIM)->instances);
        if (!str_eq(claimed, row->claimed) || !find(&plan, OP_CLAIM)->ready)
            CHECK_FAIL("%s: claims %s", row->what, claimed);
        CHECK_STR_EQ(json_str(find(&plan, OP_STATUS)->body, "lastMessage", ""), row->message);
        CHECK_INT_EQ(plan.count, 3); /* and an event */
    }
}

TEST(all_instances_have_ended)
{
    AUTO(job) struct job *job = parse("{\"completedIndexes\":\"0-9999\"}");
    struct job_view view = view_of(job);
    AUTO(plan) struct plan plan = {0};

    job_decide(&view, &plan);
    CHECK(!plan_has(&plan, OP_CLAIM));
    CHECK_STR_EQ(json_str(find(&plan, OP_STATUS)->body, "lastMessage", ""), "All instances done");
}

TEST(an_instance_that_joins_the_queue_is_not_reported_before_there_is_an_answer)
{
    AUTO(job) struct job *job = parse("{}");
    AUTO(indexset) struct indexset answered = {0};
    struct job_view view = view_of(job);
    AUTO(plan) struct plan early = {0};
    AUTO(plan) struct plan plan = {0};

    indexset_add_range(&answered, 1, 9999);
    view.answered = &answered;
    job_decide(&view, &early);
    CHECK_INT_EQ(indexset_count(&find(&early, OP_CLAIM)->instances), 10000);
    CHECK(!plan_has(&early, OP_STATUS));
    indexset_add(&answered, 0);
    job_decide(&view, &plan);
    CHECK(plan_has(&plan, OP_STATUS));
}

TEST(a_job_without_the_finalizer_keeps_the_places_of_all)
{
    AUTO(job) struct job *job = parse("{}");
    struct job_view view = view_of(job);
    AUTO(plan) struct plan plan = {0};

    job->has_finalizer = false;
    job_decide(&view, &plan);
    CHECK_INT_EQ(indexset_count(&find(&plan, OP_CLAIM)->instances), 10000);
    CHECK(!find(&plan, OP_CLAIM)->ready);
    CHECK_INT_EQ(plan.count, 2);
}
