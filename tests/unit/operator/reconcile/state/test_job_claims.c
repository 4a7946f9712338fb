#include "operator/reconcile/state/job_claims.h"

#include "base/core/mem.h"
#include "lib/check.h"

static const char A[] = "a:8090", B[] = "b:8090";

DEFINE_AUTO(job_claims);

static void claim(struct job_claims *claims, const char *instances, int64_t now_s)
{
    AUTO(indexset) struct indexset set = {0};

    indexset_parse(&set, instances);
    job_claims_set(claims, &set, true, now_s);
}

static bool assign(struct job_claims *claims, const char *served, const struct job_grant *grants,
                   size_t count)
{
    AUTO(indexset) struct indexset set = {0};

    indexset_parse(&set, served);
    return job_claims_assign(claims, &set, grants, count);
}

/* "0 a:8090, 1 b:8090" */
static void check_grants(const struct job_claims *claims, const char *expected)
{
    AUTO(str) struct str text = {0};

    for (size_t i = 0; i < claims->grant_count; i++)
        str_addf(&text, "%s%u %s", i ? ", " : "", claims->grants[i].instance,
                 claims->grants[i].controller ? claims->grants[i].controller : "none");
    CHECK_STR_EQ(str_text(&text), expected);
}

TEST(the_size_of_the_claims_does_not_depend_on_their_number)
{
    AUTO(job_claims) struct job_claims claims = {0};

    claim(&claims, "0-9999", 100);
    CHECK_INT_EQ(claims.count, 10000);
    CHECK_INT_EQ(claims.batch_count, 1);
    CHECK_INT_EQ(claims.grant_count, 0);
}

TEST(an_instance_waits_since_it_claims)
{
    AUTO(job_claims) struct job_claims claims = {0};

    claim(&claims, "0-9", 100);
    claim(&claims, "3-12", 200);
    CHECK_INT_EQ(job_claims_since_s(&claims, 0), 0);
    CHECK_INT_EQ(job_claims_since_s(&claims, 3), 100);
    CHECK_INT_EQ(job_claims_since_s(&claims, 12), 200);
    claim(&claims, "12", 300);
    CHECK_INT_EQ(claims.batch_count, 1);
    CHECK_INT_EQ(job_claims_since_s(&claims, 12), 200);
    claim(&claims, "", 400);
    CHECK_INT_EQ(claims.batch_count, 0);
    claim(&claims, "12", 500);
    CHECK_INT_EQ(job_claims_since_s(&claims, 12), 500);
}

TEST(many_different_times_are_not_all_kept)
{
    AUTO(job_claims) struct job_claims claims = {0};

    for (uint32_t i = 0; i < 100; i++) {
        AUTO(indexset) struct indexset set = {0};

        indexset_add_range(&set, 0, i + 1);
        job_claims_set(&claims, &set, true, 1000 + i);
    }
    CHECK_INT_EQ(claims.batch_count, JOB_CLAIMS_BATCHES);
    CHECK_INT_EQ(claims.count, 100);
    CHECK_INT_EQ(job_claims_since_s(&claims, 99), 1000 + JOB_CLAIMS_BATCHES - 1);
}

TEST(only_an_answer_about_all_instances_counts)
{
    AUTO(job_claims) struct job_claims claims = {0};

    claim(&claims, "0-9", 100);
    claims.is_answered = true;
    claim(&claims, "0-5", 200);
    CHECK(claims.is_answered);
    claim(&claims, "0-6", 300);
    CHECK(!claims.is_answered);
}

TEST(equal_claims_are_recognized)
{
    AUTO(job_claims) struct job_claims claims = {0};
    AUTO(indexset) struct indexset set = {0};

    CHECK(job_claims_are(&claims, &set, false));
    claim(&claims, "0-5", 100);
    CHECK(!job_claims_are(&claims, &set, true));
    indexset_parse(&set, "0-5");
    CHECK(job_claims_are(&claims, &set, true));
    CHECK(!job_claims_are(&claims, &set, false));
}

TEST(the_first_instances_get_the_grants)
{
    AUTO(job_claims) struct job_claims claims = {0};

    claim(&claims, "2-9", 100);
    CHECK(assign(&claims, "",
                 (const struct job_grant[]){{.controller = A}, {.controller = A}, {.controller = B}}, 3));
    check_grants(&claims, "2 a:8090, 3 a:8090, 4 b:8090");
    CHECK(!assign(&claims, "",
                  (const struct job_grant[]){{.controller = A}, {.controller = A}, {.controller = B}}, 3));
    CHECK(job_claims_grant(&claims, 3) && !job_claims_grant(&claims, 5));
    CHECK(assign(&claims, "", (const struct job_grant[]){{.controller = B}}, 1));
    check_grants(&claims, "2 b:8090");
    CHECK(assign(&claims, "", NULL, 0));
    check_grants(&claims, "");
}

/* Its partition is counted as taken already, and its record may not be claimed twice. */
TEST(an_instance_that_is_served_keeps_its_grant_and_the_next_ones_get_more)
{
    AUTO(job_claims) struct job_claims claims = {0};

    claim(&claims, "0-9", 100);
    assign(&claims, "", (const struct job_grant[]){{.controller = A}, {.controller = A}}, 2);
    mem_set_str(&job_claims_grant(&claims, 0)->record, "p-0");
    CHECK(!assign(&claims, "0", &(const struct job_grant){.controller = A}, 1));
    CHECK(assign(&claims, "0",
                 (const struct job_grant[]){{.controller = A}, {.controller = A}, {.controller = A}}, 3));
    check_grants(&claims, "0 a:8090, 1 a:8090, 2 a:8090, 3 a:8090");
    claim(&claims, "1-9", 200);
    check_grants(&claims, "1 a:8090, 2 a:8090, 3 a:8090");
}

/* It is asked for only when the record is sent. */
TEST(another_place_or_limit_at_the_same_controller_is_no_news)
{
    AUTO(job_claims) struct job_claims claims = {0};
    char one[] = "cl1/0/0", other[] = "cl1/0/4";

    claim(&claims, "0", 100);
    CHECK(assign(&claims, "", &(const struct job_grant){A, one, 60, 30}, 1));
    CHECK(!assign(&claims, "", &(const struct job_grant){A, other, 600, 5}, 1));
    CHECK_STR_EQ(job_claims_grant(&claims, 0)->place, other);
    CHECK_INT_EQ(job_claims_grant(&claims, 0)->limit_s, 600);
    CHECK_INT_EQ(job_claims_grant(&claims, 0)->grace_s, 5);
}

TEST(a_grant_that_is_lost_while_its_record_is_sent_is_remembered)
{
    AUTO(job_claims) struct job_claims claims = {0};

    claim(&claims, "0-9", 100);
    assign(&claims, "", &(const struct job_grant){.controller = A}, 1);
    mem_set_str(&job_claims_grant(&claims, 0)->record, "p-0");
    CHECK(assign(&claims, "", NULL, 0));
    check_grants(&claims, "0 none");
    CHECK_STR_EQ(job_claims_grant(&claims, 0)->record, "p-0");
    claim(&claims, "0-9", 200);
    check_grants(&claims, "");
}

TEST(another_template_is_granted_nothing_yet)
{
    AUTO(job_claims) struct job_claims claims = {0};
    AUTO(indexset) struct indexset set = {0};

    claim(&claims, "0-9", 100);
    claims.is_answered = true;
    assign(&claims, "", &(const struct job_grant){.controller = A}, 1);
    indexset_parse(&set, "0-9");
    job_claims_set(&claims, &set, false, 200);
    CHECK(!claims.is_answered);
    check_grants(&claims, "");
    CHECK_INT_EQ(job_claims_since_s(&claims, 0), 100);
}
