#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "lib/check.h"
#include "operator/serve/live/grants.h"

enum { NOW = 1000 };

/* "controller ml/job ..." in the order in which they are asked; each is allowed or not. */
static void answer_all(struct grants *grants, int64_t now_ms, const char *allowed, struct str *ret)
{
    struct grants_question question;
    int64_t due_ms;

    /* A blank before each word, so that "job" is not found in "ml/job". */
    while (grants_next(grants, now_ms, &question, &due_ms)) {
        AUTO(mem)
        char *name = mem_printf(" %s%s%s", question.ns ? question.ns : "", question.ns ? "/" : "",
                                feed_kind_names[question.kind]);

        str_adds(ret, ret->len ? name : name + 1);
        (void)grants_answer(grants, question.kind, question.ns, strstr(allowed, name) != NULL, now_ms);
    }
}

TEST(questions_are_asked_as_far_as_they_matter)
{
    static const struct {
        const char *allowed, *asked;
        bool job, pod, other_job;
    } rows[] = {
        {"", "job controller ml/job", false, false, false},
        {"ml/job", "job controller ml/job ml/pod", true, false, false},
        {"ml/job ml/pod", "job controller ml/job ml/pod", true, true, false},
        {"job pod ", "job controller pod", true, true, true},
        {"job ml/pod", "job controller pod ml/pod", true, true, true},
    };

    CHECK_ROWS (row, rows) {
        struct grants grants = {0};
        AUTO(str) struct str asked = {0};
        AUTO(mem) char *words = mem_printf(" %s", row->allowed);

        grants_add_namespace(&grants, "ml");
        answer_all(&grants, NOW, words, &asked);
        CHECK_INT_EQ(grants_allow(&grants, FEED_JOB, "ml"), row->job);
        CHECK_INT_EQ(grants_allow(&grants, FEED_POD, "ml"), row->pod);
        CHECK_INT_EQ(grants_allow(&grants, FEED_JOB, "cv"), row->other_job);
        CHECK_INT_EQ(grants_allow_any(&grants, FEED_JOB), row->job);
        CHECK(!grants_allow(&grants, FEED_EVENT, "ml"));
        CHECK_STR_EQ(str_text(&asked), row->asked);
        grants_release(&grants);
    }
}

TEST(answers_are_asked_for_again_in_time)
{
    struct grants grants = {0};
    struct grants_question question;
    int64_t due_ms;
    AUTO(str) struct str asked = {0};

    grants_add_namespace(&grants, "cv");
    grants_add_namespace(&grants, "ml");
    answer_all(&grants, NOW, " ml/job ml/pod", &asked);
    CHECK(!grants_next(&grants, NOW + GRANTS_ALLOWED_MS - 1, &question, &due_ms));
    CHECK_INT_EQ(due_ms, NOW + GRANTS_ALLOWED_MS);
    str_clear(&asked);
    answer_all(&grants, NOW + GRANTS_ALLOWED_MS, " ml/job ml/pod", &asked);
    CHECK_STR_EQ(str_text(&asked), "ml/job ml/pod");
    CHECK(grants_next(&grants, NOW + GRANTS_DENIED_MS, &question, &due_ms));
    grants_release(&grants);
}

TEST(what_is_not_known_yet_is_asked_first)
{
    struct grants grants = {0};
    struct grants_question question;
    int64_t due_ms, later_ms = NOW + 2 * GRANTS_ALLOWED_MS;
    AUTO(str) struct str asked = {0};

    grants_add_namespace(&grants, "cv");
    grants_add_namespace(&grants, "ml");
    answer_all(&grants, NOW, " cv/job ml/job", &asked);
    grants_add_namespace(&grants, "late");
    CHECK(grants_next(&grants, later_ms, &question, &due_ms));
    CHECK_STR_EQ(question.ns, "late");
    (void)grants_answer(&grants, FEED_JOB, "late", false, later_ms);
    (void)grants_answer(&grants, FEED_JOB, "cv", true, NOW + 1);
    CHECK(grants_next(&grants, later_ms, &question, &due_ms));
    CHECK_STR_EQ(question.ns, "ml");
    grants_release(&grants);
}

TEST(changes_are_told)
{
    struct grants grants = {0};

    grants_add_namespace(&grants, "ml");
    CHECK_INT_EQ(grants_answer(&grants, FEED_JOB, "ml", false, NOW), GRANTS_SAME);
    CHECK_INT_EQ(grants_answer(&grants, FEED_JOB, "ml", true, NOW), GRANTS_GIVEN);
    CHECK_INT_EQ(grants_answer(&grants, FEED_JOB, "ml", true, NOW), GRANTS_SAME);
    CHECK_INT_EQ(grants_answer(&grants, FEED_JOB, "ml", false, NOW), GRANTS_TAKEN);
    grants_drop_namespace(&grants, "ml");
    CHECK_INT_EQ(grants_answer(&grants, FEED_JOB, "ml", true, NOW), GRANTS_SAME);
    CHECK(!grants_allow(&grants, FEED_JOB, "ml"));
    grants_release(&grants);
}

TEST(what_was_allowed_does_not_count_for_ever)
{
    struct grants grants = {0};

    grants_add_namespace(&grants, "ml");
    (void)grants_answer(&grants, FEED_JOB, NULL, false, NOW);
    CHECK(!grants_are_stale(&grants, INT64_MAX));
    (void)grants_answer(&grants, FEED_JOB, "ml", true, NOW);
    CHECK(!grants_are_stale(&grants, NOW + GRANTS_STALE_MS - 1));
    CHECK(grants_are_stale(&grants, NOW + GRANTS_STALE_MS));
    (void)grants_answer(&grants, FEED_JOB, NULL, true, NOW + GRANTS_STALE_MS);
    CHECK(!grants_are_stale(&grants, NOW + GRANTS_STALE_MS)); /* nobody asks for ml alone any more */
    grants_release(&grants);
}

TEST(namespaces_have_a_limit)
{
    struct grants grants = {0};

    for (unsigned i = 0; i <= GRANTS_NAMESPACES_MAX; i++) {
        AUTO(mem) char *ns = mem_printf("ns-%u", i);

        grants_add_namespace(&grants, ns);
        grants_add_namespace(&grants, ns);
    }
    CHECK_INT_EQ(grants.namespaces.count, GRANTS_NAMESPACES_MAX);
    grants_release(&grants);
}
