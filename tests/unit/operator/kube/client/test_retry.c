#include "operator/kube/client/retry.h"

#include "lib/check.h"
#include "operator/kube/client/client.h"

TEST(only_what_may_be_repeated_is_safe)
{
    CHECK(retry_is_safe("GET", NULL, false));
    CHECK(retry_is_safe("PUT", "application/json", false));
    CHECK(retry_is_safe("DELETE", NULL, false));
    CHECK(retry_is_safe("PATCH", KUBE_APPLY_PATCH, false));
    CHECK(retry_is_safe("PATCH", KUBE_MERGE_PATCH, false));
    CHECK(!retry_is_safe("PATCH", KUBE_JSON_PATCH, false));
    CHECK(!retry_is_safe("POST", "application/json", false));
    CHECK(retry_is_safe("POST", "application/json", true));
}

static int64_t delay(struct retry_state state, enum err_kind kind, int code, int64_t retry_after_ms,
                     int64_t left_ms)
{
    struct err err = {.kind = kind, .code = code};
    bool renew;

    return retry_delay_ms(&state, &err, retry_after_ms, left_ms, 0, &renew);
}

TEST(failures_are_repeated_as_far_as_they_allow)
{
    static const struct {
        struct retry_state state;
        enum err_kind kind;
        int code;
        int64_t retry_after_ms, left_ms, want;
    } rows[] = {
        {{.tries = 1}, ERR_BUSY, 429, -1, 30000, 100},    /* nothing was done: always */
        {{.tries = 1}, ERR_BUSY, 429, 2000, 30000, 2000}, /* obeyed */
        {{.tries = 1}, ERR_BUSY, 429, 40000, 30000, -1},  /* too late for us */
        {{.tries = 10}, ERR_BUSY, 429, -1, 30000, -1},    /* bounded */
        {{.tries = 1}, ERR_BUSY, 503, -1, 30000, -1},     /* a POST may have been done */
        {{.tries = 1, .is_safe = true}, ERR_BUSY, 503, -1, 30000, 100},
        {{.tries = 1, .is_safe = true}, ERR_IO, 55, -1, 30000, 100}, /* an idle connection was closed */
        {{.tries = 3, .is_safe = true}, ERR_IO, 55, -1, 30000, -1},
        {{.tries = 1}, ERR_IO, 55, -1, 30000, -1},
        {{.tries = 1, .is_safe = true}, ERR_TIMEOUT, 28, -1, 0, -1},
        {{.tries = 1, .is_safe = true}, ERR_INVALID, 422, -1, 30000, -1}, /* the answer would be the same */
        {{.tries = 1, .is_safe = true}, ERR_CONFLICT, 409, -1, 30000, -1},
        {{.tries = 1, .is_safe = true}, ERR_DENIED, 403, -1, 30000, -1},
        {{.tries = 1, .is_safe = true}, ERR_NOT_FOUND, 404, -1, 30000, -1},
    };

    CHECK_ROWS (row, rows)
        CHECK_INT_EQ(delay(row->state, row->kind, row->code, row->retry_after_ms, row->left_ms), row->want);
}

/* A later, clear answer says nothing of an earlier try. */
TEST(tries_without_a_clear_answer_leave_a_request_in_doubt)
{
    static const struct {
        enum err_kind kind;
        int code;
        bool is_in_doubt;
    } rows[] = {
        {ERR_TIMEOUT, 0, true},   {ERR_IO, 0, true},         {ERR_IO, 500, true},
        {ERR_TIMEOUT, 504, true}, {ERR_BUSY, 503, true},     {ERR_BUSY, 429, false},
        {ERR_DENIED, 403, false}, {ERR_INVALID, 422, false}, {ERR_EXISTS, 409, false},
    };

    CHECK_ROWS (row, rows) {
        struct retry_state state = {.tries = 1, .is_safe = true};
        const struct err first = {.kind = row->kind, .code = row->code};
        const struct err then = {.kind = ERR_DENIED, .code = 403};
        bool renew;

        (void)!retry_delay_ms(&state, &first, -1, 30000, 0, &renew);
        CHECK_INT_EQ(state.is_in_doubt, row->is_in_doubt);
        (void)!retry_delay_ms(&state, &then, -1, 30000, 0, &renew);
        CHECK_INT_EQ(state.is_in_doubt, row->is_in_doubt);
    }
}

TEST(a_401_reads_the_credentials_again_once)
{
    struct retry_state state = {.tries = 1};
    struct err err = {.kind = ERR_DENIED, .code = 401};
    bool renew;

    CHECK_INT_EQ(retry_delay_ms(&state, &err, -1, 30000, 0, &renew), 0);
    CHECK(renew);
    state.tries++;
    CHECK_INT_EQ(retry_delay_ms(&state, &err, -1, 30000, 0, &renew), -1);
    CHECK(!renew);
}
