#include "launcher/env/identity.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define JOB "0d8b5d8e-4b5a-4c3e-9d63-1a2b3c4d5e6f"

TEST(what_is_printed_is_read_again)
{
    const struct identity identity = {.job = JOB, .attempt = INT32_MAX, .worker = 65535};
    char text[IDENTITY_TEXT_MAX];
    struct identity again;

    identity_print(&identity, text);
    CHECK_STR_EQ(text, JOB "/2147483647/65535");
    CHECK(identity_parse(text, &again));
    CHECK_STR_EQ(again.job, JOB);
    CHECK_INT_EQ(again.attempt, INT32_MAX);
    CHECK_INT_EQ(again.worker, 65535);
}

TEST(who_may_use_an_agent)
{
    static const struct identity own = {.job = "job", .attempt = 5, .worker = 2};
    static const struct {
        const char *pending_conn;
        enum rejection want;
    } rows[] = {
        {"job/5/2", REJECTION_NONE},
        {"job/6/2", REJECTION_NONE}, /* a newer attempt */
        {"job/4/2", REJECTION_STALE_ATTEMPT},
        {"job/0/2", REJECTION_STALE_ATTEMPT},
        {"job/5/1", REJECTION_WORKER},
        {"other/5/2", REJECTION_JOB},
        {"jo/5/2", REJECTION_JOB},
        {"jobs/5/2", REJECTION_JOB},
        {"", REJECTION_NO_IDENTITY},
        {"job", REJECTION_NO_IDENTITY},
        {"job/5", REJECTION_NO_IDENTITY},
        {"job/5/", REJECTION_NO_IDENTITY},
        {"job//2", REJECTION_NO_IDENTITY},
        {"/5/2", REJECTION_NO_IDENTITY},
        {"job/5/2/", REJECTION_NO_IDENTITY},
        {"job/5/2 ", REJECTION_NO_IDENTITY},
        {"job/-5/2", REJECTION_NO_IDENTITY},
        {"job/5/4294967298", REJECTION_NO_IDENTITY},
        {"job/99999999999999999999/2", REJECTION_NO_IDENTITY},
        {"j b/5/2", REJECTION_NO_IDENTITY},
        {"0123456789012345678901234567890123456789012345678901234567890123/5/2", REJECTION_NO_IDENTITY},
    };

    CHECK_ROWS (row, rows) {
        struct identity pending_conn;

        CHECK_STR_EQ(rejection_text(identity_check(&own, row->pending_conn, &pending_conn)),
                     rejection_text(row->want));
    }
}

TEST(every_rejection_has_its_sentence)
{
    for (int i = 0; i < REJECTION_COUNT; i++)
        for (int j = 0; j < i; j++)
            CHECK(!str_eq(rejection_text((enum rejection)i), rejection_text((enum rejection)j)));
}

TEST(all_that_is_missing_is_named_at_once)
{
    static const struct {
        char *env[3];
        const char *want; /* NULL: nothing is missing */
    } rows[] = {
        {{"IPU_JOB_UID=" JOB, "IPU_JOB_ATTEMPT=3", NULL}, NULL},
        {{"IPU_JOB_UID=" JOB, NULL}, ": IPU_JOB_ATTEMPT must"},
        {{"IPU_JOB_ATTEMPT=3", NULL}, ": IPU_JOB_UID must"},
        {{"IPU_JOB_UID=a/b", "IPU_JOB_ATTEMPT=x", NULL}, ": IPU_JOB_UID and IPU_JOB_ATTEMPT must"},
        {{"IPU_JOB_UID=", "IPU_JOB_ATTEMPT=", NULL}, ": IPU_JOB_UID and IPU_JOB_ATTEMPT must"},
    };

    CHECK_ROWS (row, rows) {
        AUTO(envv) struct envv env = {0};
        struct identity identity;
        struct err err;

        envv_init(&env, row->env);
        if (!row->want) {
            CHECK_OK(identity_read(&env, &identity, &err), err);
            CHECK_INT_EQ(identity.attempt, 3);
            continue;
        }
        CHECK_ERR(identity_read(&env, &identity, &err), err, ERR_INVALID);
        CHECK_HAS(err.msg, row->want);
    }
}
