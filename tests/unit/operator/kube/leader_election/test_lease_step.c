#include "operator/kube/leader_election/lease_step.h"

#include "lib/check.h"

/* A candidate on a clock of its own. Each helper feeds one input and keeps the answer. */
struct candidate {
    struct lease_state state;
    struct lease_output out;
    int64_t now_ms;
};

static const struct err NONE = {0};

static void candidate_init(struct candidate *c)
{
    *c = (struct candidate){.now_ms = 1000};
    lease_state_init(&c->state, "me");
    lease_on_time(&c->state, c->now_ms, &c->out);
    CHECK_INT_EQ(c->out.act, LEASE_READ);
}

static void reads_lasting(struct candidate *c, const char *version, const char *holder, int64_t lasts_ms)
{
    struct lease_record record = {version, holder, lasts_ms, 3, ""};

    lease_on_read(&c->state, &record, &NONE, c->now_ms, &c->out);
}

static void reads(struct candidate *c, const char *version, const char *holder)
{
    reads_lasting(c, version, holder, *holder ? 15000 : LEASE_RELEASED_DURATION_S * 1000);
}

static void reads_error(struct candidate *c, enum err_kind kind)
{
    struct err err = {.kind = kind};

    lease_on_read(&c->state, NULL, &err, c->now_ms, &c->out);
}

static void sends(struct candidate *c)
{
    c->state.sent_ms = c->now_ms;
}

static void answers(struct candidate *c, const char *version, const char *holder)
{
    struct lease_record record = {version, holder, 15000, 3, ""};

    lease_on_written(&c->state, &record, &NONE, c->now_ms, &c->out);
}

static void writes(struct candidate *c, const char *version)
{
    answers(c, version, "me");
}

static void writes_error(struct candidate *c, enum err_kind kind)
{
    struct err err = {.kind = kind};

    lease_on_written(&c->state, NULL, &err, c->now_ms, &c->out);
}

static void time_passes(struct candidate *c, int64_t ms)
{
    c->now_ms += ms;
    lease_on_time(&c->state, c->now_ms, &c->out);
}

static void candidate_release(struct candidate *c)
{
    lease_state_release(&c->state);
}

static void takes(struct candidate *c)
{
    reads_error(c, ERR_NOT_FOUND);
    CHECK_INT_EQ(c->out.act, LEASE_CREATE);
    sends(c);
    writes(c, "1");
    CHECK(c->out.has_started);
}

TEST_F(candidate, c, a_missing_lease_is_made)
{
    takes(c);
    CHECK_INT_EQ(c->out.act, LEASE_WAIT);
    CHECK_INT_EQ(c->out.wait_ms, 2000);
    CHECK(lease_state_is_held(&c->state, c->now_ms));
}

TEST_F(candidate, c, a_holder_renews_without_reading)
{
    takes(c);
    time_passes(c, 2000);
    CHECK_INT_EQ(c->out.act, LEASE_WRITE);
    sends(c);
    writes(c, "2");
    CHECK(!c->out.has_started);
    CHECK_INT_EQ(lease_deadline_ms(&c->state), 3000 + 10000);
}

TEST_F(candidate, c, time_counts_from_when_the_renewal_was_sent)
{
    takes(c);
    time_passes(c, 2000);
    sends(c);
    c->now_ms += 4000; /* the answer took long */
    writes(c, "2");
    CHECK_INT_EQ(lease_deadline_ms(&c->state), 3000 + 10000);
    CHECK(lease_state_is_held(&c->state, 12999));
    CHECK(!lease_state_is_held(&c->state, 13000));
}

TEST_F(candidate, c, a_live_holder_is_left_alone_until_its_time_has_passed_here)
{
    reads(c, "1", "other");
    CHECK_INT_EQ(c->out.act, LEASE_WAIT);
    int64_t seen_ms = c->now_ms;

    for (time_passes(c, c->out.wait_ms); c->out.act == LEASE_READ; time_passes(c, c->out.wait_ms)) {
        reads(c, "1", "other");
        CHECK_INT_EQ(c->out.act, LEASE_WAIT);
        CHECK(c->out.wait_ms <= 250); /* so that a release is seen soon, and a renewal not late */
    }
    CHECK_INT_EQ(c->out.act,
                 LEASE_WRITE); /* without another read: the write is rejected if there is a newer record */
    CHECK_INT_EQ(c->now_ms - seen_ms, 15000);
    writes_error(c, ERR_CONFLICT);
    CHECK_INT_EQ(c->out.act, LEASE_READ);
    reads(c, "2", "other");
    CHECK_INT_EQ(c->out.act, LEASE_WAIT);
}

/* The holder does not learn of an edit by hand before it renews. */
TEST(a_record_changed_by_hand_ends_no_lease_early)
{
    static const struct {
        const char *holder;
        int64_t lasts_ms;
    } rows[] = {{"", 15000}, {"other", 1000}, {"unknown", 1000}};

    CHECK_ROWS (row, rows) {
        struct candidate c;

        candidate_init(&c);
        reads(&c, "1", "other");
        time_passes(&c, 100);
        reads_lasting(&c, "2", row->holder, row->lasts_ms);
        CHECK_INT_EQ(c.out.act, LEASE_WAIT);
        time_passes(&c, 14999);
        reads_lasting(&c, "2", row->holder, row->lasts_ms);
        CHECK_INT_EQ(c.out.act, LEASE_WAIT);
        CHECK_INT_EQ(c.out.wait_ms, 1);
        time_passes(&c, 1);
        CHECK_INT_EQ(c.out.act, LEASE_WRITE);
        lease_state_release(&c.state);
    }
}

TEST_F(candidate, c, a_lease_that_is_deleted_stays_with_its_holder)
{
    reads(c, "1", "other");
    time_passes(c, 100);
    reads_error(c, ERR_NOT_FOUND);
    CHECK_INT_EQ(c->out.act, LEASE_WAIT);
    time_passes(c, 14800);
    reads_error(c, ERR_NOT_FOUND);
    CHECK_INT_EQ(c->out.wait_ms, 100); /* its holder has not created it again */
    time_passes(c, c->out.wait_ms);
    writes_error(c, ERR_NOT_FOUND);
    CHECK_INT_EQ(c->out.act, LEASE_READ);
    reads_error(c, ERR_NOT_FOUND);
    CHECK_INT_EQ(c->out.act, LEASE_CREATE);
}

TEST_F(candidate, c, a_holder_creates_its_deleted_lease_again)
{
    takes(c);
    time_passes(c, 2000);
    writes_error(c, ERR_NOT_FOUND);
    reads_error(c, ERR_NOT_FOUND);
    CHECK_INT_EQ(c->out.act, LEASE_CREATE);
    CHECK(!c->out.was_lost);
}

TEST_F(candidate, c, a_released_lease_that_is_deleted_is_created_at_once)
{
    reads(c, "1", "");
    writes_error(c, ERR_NOT_FOUND);
    reads_error(c, ERR_NOT_FOUND);
    CHECK_INT_EQ(c->out.act, LEASE_CREATE);
}

TEST_F(candidate, c, a_missing_namespace_is_retried)
{
    for (int i = 0; i < 3; i++) {
        reads_error(c, ERR_NOT_FOUND);
        CHECK_INT_EQ(c->out.act, LEASE_CREATE);
        writes_error(c, ERR_NOT_FOUND);
        CHECK_INT_EQ(c->out.act, LEASE_WAIT);
        CHECK_INT_EQ(c->out.wait_ms, c->state.retry_ms);
        CHECK_INT_EQ(c->state.trouble.kind, ERR_NOT_FOUND);
        time_passes(c, c->out.wait_ms);
        CHECK_INT_EQ(c->out.act, LEASE_READ);
    }
    reads_error(c, ERR_NOT_FOUND);
    sends(c);
    writes(c, "1");
    CHECK(c->out.has_started);
    CHECK_INT_EQ(c->state.trouble.kind, ERR_NONE);
}

TEST_F(candidate, c, a_renewing_holder_is_never_overtaken)
{
    static const char *const versions[] = {"1", "2"};

    for (int i = 0; i < 100; i++) {
        reads(c, versions[i % 2], "other");
        CHECK_INT_EQ(c->out.act, LEASE_WAIT);
        time_passes(c, 14000);
    }
}

TEST_F(candidate, c, who_leads_is_known_for_as_long_as_a_lease_lasts)
{
    CHECK(!lease_state_is_known(&c->state, c->now_ms)); /* nothing was read yet */
    reads(c, "1", "other");
    CHECK(lease_state_is_known(&c->state, c->now_ms));
    for (int64_t gone_ms = 0; gone_ms < 14000; gone_ms += 2000) {
        time_passes(c, 2000);
        reads_error(c, ERR_DENIED);
        CHECK_INT_EQ(c->out.wait_ms, 2000);
        CHECK_INT_EQ(c->state.trouble.kind, ERR_DENIED);
        CHECK(lease_state_is_known(&c->state, c->now_ms));
    }
    time_passes(c, 2000);
    reads_error(c, ERR_DENIED);
    CHECK(!lease_state_is_known(&c->state, c->now_ms));
    time_passes(c, 2000);
    reads(c, "9", "other");
    CHECK(lease_state_is_known(&c->state, c->now_ms));
    CHECK_INT_EQ(c->state.trouble.kind, ERR_NONE);
}

TEST_F(candidate, c, who_leads_is_not_known_while_a_free_lease_cannot_be_taken)
{
    for (int i = 0; i < 2; i++) {
        reads(c, "5", "");
        CHECK_INT_EQ(c->out.act, LEASE_WRITE);
        CHECK_INT_EQ(c->state.trouble.kind, i ? ERR_DENIED : ERR_NONE); /* a read alone ends no trouble */
        sends(c);
        writes_error(c, ERR_DENIED);
        CHECK_INT_EQ(c->out.act, LEASE_WAIT);
        CHECK(!lease_state_is_known(&c->state, c->now_ms));
        time_passes(c, c->out.wait_ms);
    }
    reads(c, "5", "");
    sends(c);
    writes(c, "6");
    CHECK(lease_state_is_known(&c->state, c->now_ms));
}

TEST_F(candidate, c, a_released_lease_is_taken_at_once)
{
    reads(c, "5", "");
    CHECK_INT_EQ(c->out.act, LEASE_WRITE);
    sends(c);
    writes(c, "6");
    CHECK(c->out.has_started);
}

TEST_F(candidate, c, of_two_takers_the_slower_one_looks_again)
{
    reads(c, "5", "");
    sends(c);
    writes_error(c, ERR_CONFLICT);
    CHECK_INT_EQ(c->state.trouble.kind, ERR_NONE);
    CHECK_INT_EQ(c->out.act, LEASE_READ);
    reads(c, "6", "other");
    CHECK_INT_EQ(c->out.act, LEASE_WAIT);
    CHECK(!lease_state_is_held(&c->state, c->now_ms));
}

TEST_F(candidate, c, without_renewal_it_is_lost_at_the_deadline)
{
    takes(c);
    time_passes(c, 2000);
    sends(c);
    c->now_ms += 5000;
    writes_error(c, ERR_IO);
    CHECK(!c->out.was_lost);
    CHECK_INT_EQ(c->out.act, LEASE_WAIT);
    CHECK_INT_EQ(c->out.wait_ms, 500);
    time_passes(c, c->out.wait_ms);
    CHECK_INT_EQ(c->out.act, LEASE_WRITE);
    sends(c);
    CHECK_INT_EQ(lease_request_timeout_ms(&c->state, c->now_ms), 2500);
    time_passes(c, 2500); /* the deadline comes while it is in flight */
    CHECK(c->out.was_lost);
    CHECK_INT_EQ(c->out.act, LEASE_READ);
    CHECK(!lease_state_is_held(&c->state, c->now_ms));
}

TEST_F(candidate, c, a_slow_server_keeps_its_leader)
{
    takes(c);
    time_passes(c, c->out.wait_ms);
    for (int i = 0; i < 10; i++) {
        CHECK_INT_EQ(c->out.act, LEASE_WRITE);
        sends(c);
        CHECK(lease_request_timeout_ms(&c->state, c->now_ms) >= 4900);
        c->now_ms += 4900;
        writes(c, "2");
        CHECK_INT_EQ(c->out.wait_ms, 0);
        CHECK(lease_state_is_held(&c->state, c->now_ms));
        time_passes(c, c->out.wait_ms);
    }
}

TEST_F(candidate, c, a_standby_has_the_full_time_for_a_request)
{
    CHECK_INT_EQ(lease_request_timeout_ms(&c->state, c->now_ms), 5000);
}

TEST_F(candidate, c, a_retry_never_sleeps_past_the_deadline)
{
    takes(c);
    time_passes(c, 8500);
    sends(c);
    c->now_ms += 1200;
    writes_error(c, ERR_IO);
    CHECK_INT_EQ(c->out.wait_ms, 300);
}

TEST_F(candidate, c, a_renewal_of_unknown_outcome_heals)
{
    takes(c);
    time_passes(c, 2000);
    sends(c);
    writes_error(c, ERR_IO); /* it had arrived */
    time_passes(c, 2000);
    sends(c);
    writes_error(c, ERR_CONFLICT);
    CHECK_INT_EQ(c->out.act, LEASE_READ);
    reads(c, "2", "me");
    CHECK_INT_EQ(c->out.act, LEASE_WRITE);
    CHECK(!c->out.was_lost);
    sends(c);
    writes(c, "3");
    CHECK(!c->out.has_started);
    CHECK(lease_state_is_held(&c->state, c->now_ms + 9999));
}

TEST_F(candidate, c, another_holder_ends_it_at_once)
{
    takes(c);
    time_passes(c, 2000);
    sends(c);
    writes_error(c, ERR_CONFLICT);
    reads(c, "9", "thief");
    CHECK(c->out.was_lost);
    CHECK_INT_EQ(c->out.act, LEASE_WAIT);
}

TEST_F(candidate, c, a_late_answer_does_not_start_a_lease_that_is_over)
{
    reads(c, "5", "");
    sends(c);
    c->now_ms += 10000;
    writes(c, "6");
    CHECK(!c->out.has_started);
    CHECK(!lease_state_is_held(&c->state, c->now_ms));
}

/* Both come in one turn of the event loop when the process was stopped for longer. */
TEST_F(candidate, c, a_lease_that_is_lost_is_not_started_again_by_the_answer_that_came_too_late)
{
    takes(c);
    c->now_ms += 9000;
    sends(c);
    c->now_ms += 1500;
    writes(c, "2");
    CHECK(c->out.was_lost);
    CHECK(!c->out.has_started);
    CHECK(!lease_state_is_held(&c->state, c->now_ms));
}

TEST_F(candidate, c, leaving_gives_it_back)
{
    takes(c);
    lease_begin_release(&c->state, false, &c->out);
    CHECK_INT_EQ(c->out.act, LEASE_RELEASE);
    CHECK(!lease_state_is_held(&c->state, c->now_ms));
    writes_error(c, ERR_CONFLICT);
    CHECK_INT_EQ(c->out.act, LEASE_READ);
    reads(c, "2", "me");
    CHECK_INT_EQ(c->out.act, LEASE_RELEASE);
    answers(c, "3", "");
    CHECK_INT_EQ(c->out.act, LEASE_END);
}

TEST(leaving_gives_back_what_is_being_taken)
{
    static const struct {
        const char *holder;
        enum lease_action want;
    } rows[] = {{"me", LEASE_RELEASE}, {"other", LEASE_END}, {NULL, LEASE_END}};

    CHECK_ROWS (row, rows) {
        struct candidate c;

        candidate_init(&c);
        reads(&c, "5", "");
        sends(&c);
        lease_begin_release(&c.state, true, &c.out);
        CHECK_INT_EQ(c.out.act, LEASE_WAIT);
        if (row->holder)
            answers(&c, "6", row->holder);
        else
            writes_error(&c, ERR_IO);
        CHECK_INT_EQ(c.out.act, row->want);
        CHECK(!c.out.has_started && !lease_state_is_held(&c.state, c.now_ms));
        if (row->want == LEASE_RELEASE)
            CHECK_STR_EQ(c.state.resource_version, "6");
        lease_state_release(&c.state);
    }
}

TEST_F(candidate, c, a_standby_has_nothing_to_release)
{
    lease_begin_release(&c->state, false, &c->out);
    CHECK_INT_EQ(c->out.act, LEASE_END);
}

TEST_F(candidate, c, a_lease_of_another_holder_is_not_released)
{
    takes(c);
    lease_begin_release(&c->state, false, &c->out);
    writes_error(c, ERR_CONFLICT);
    reads(c, "9", "other");
    CHECK_INT_EQ(c->out.act, LEASE_END);
}

TEST(records_are_read_with_limits)
{
    static const struct {
        const char *text;
        bool good;
        const char *holder;
        int64_t duration_ms;
        int64_t transitions;
    } rows[] = {
        {"{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{\"holderIdentity\":\"x\","
         "\"leaseDurationSeconds\":20}}",
         true, "x", 20000, 0},
        {"{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"1\"}}", true, "", 15000, 0},
        {"{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{\"leaseDurationSeconds\":"
         "99999999,\"leaseTransitions\":6}}",
         true, "", 15000, 6},
        {"{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{\"leaseTransitions\":"
         "2147483647}}",
         true, "", 15000, 0}, /* the API server accepts no greater one */
        {"{\"kind\":\"Lease\",\"metadata\":{}}", false, NULL, 0, 0},
        {"{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"1\"}}", false, NULL, 0, 0},
    };

    CHECK_ROWS (row, rows) {
        struct err err = {0};
        AUTO(json) cJSON *doc = json_parse(slice_of(row->text), &err);
        struct lease_record record = {0};

        CHECK_INT_EQ(lease_record_read(doc, &record), row->good);
        if (!row->good)
            continue;
        CHECK_STR_EQ(record.holder, row->holder);
        CHECK_INT_EQ(record.duration_ms, row->duration_ms);
        CHECK_INT_EQ(record.transitions, row->transitions);
    }
}

TEST(a_standby_knows_what_the_holder_tells)
{
    struct err err = {0};
    AUTO(json)
    cJSON *doc = json_parse(
        SLICE_LIT("{\"kind\":\"Lease\",\"metadata\":{\"resourceVersion\":\"1\",\"annotations\":{\"" LEASE_NOTE
                  "\":\"64\"}},\"spec\":{\"holderIdentity\":\"other\"}}"),
        &err);
    struct lease_record record;
    struct lease_state state;
    struct lease_output out;

    lease_state_init(&state, "self");
    CHECK(lease_record_read(doc, &record));
    lease_on_read(&state, &record, &NONE, 0, &out);
    CHECK_STR_EQ(state.other_note, "64");
    record.note = "128";
    lease_on_read(&state, &record, &NONE, 1000, &out);
    CHECK_STR_EQ(state.other_note, "128");
    lease_state_release(&state);
}

/* Two candidates on one record, with answers lost at random: never do both believe that they hold it. */
TEST(two_candidates_never_hold_it_together)
{
    struct candidate pair[2];
    char version[2] = {'0', '\0'};
    const char *names[] = {"me", "you"};
    const char *holder = "";
    bool exists = false;
    uint32_t random = 7;

    for (int i = 0; i < 2; i++) {
        pair[i] = (struct candidate){.now_ms = 1000};
        lease_state_init(&pair[i].state, names[i]);
        lease_on_time(&pair[i].state, 1000, &pair[i].out);
    }
    for (int n = 0; n < 50000; n++) {
        struct candidate *c;
        int who;
        bool is_lost, is_known;
        struct lease_record record = {.duration_ms = 15000};
        struct err err = {0};

        random = random * 1664525U + 1013904223U;
        who = (int)(random >> 31);
        is_lost = (random >> 20 & 7) == 0;
        c = &pair[who];
        pair[0].now_ms = pair[1].now_ms += (random >> 10) % 700;
        if (lease_state_is_held(&pair[0].state, pair[0].now_ms))
            CHECK(!lease_state_is_held(&pair[1].state, pair[1].now_ms));
        switch (c->out.act) {
        case LEASE_READ:
            record.resource_version = version;
            record.holder = holder;
            err.kind = is_lost ? ERR_IO : exists ? ERR_NONE : ERR_NOT_FOUND;
            lease_on_read(&c->state, err.kind == ERR_NONE ? &record : NULL, &err, c->now_ms, &c->out);
            break;
        case LEASE_CREATE:
        case LEASE_WRITE:
            c->state.sent_ms = c->now_ms;
            is_known = exists && str_eq(c->state.resource_version, version);
            if (c->out.act == LEASE_CREATE ? !exists : is_known) {
                exists = true;
                holder = names[who];
                version[0] = version[0] == '~' ? '0' : (char)(version[0] + 1);
                err.kind = is_lost ? ERR_TIMEOUT : ERR_NONE;
            } else {
                err.kind = is_lost ? ERR_TIMEOUT : ERR_CONFLICT;
            }
            record.resource_version = version;
            record.holder = holder;
            lease_on_written(&c->state, err.kind == ERR_NONE ? &record : NULL, &err, c->now_ms, &c->out);
            break;
        case LEASE_WAIT:
            if (c->now_ms >= lease_deadline_ms(&c->state) || (random >> 5 & 3) == 0)
                lease_on_time(&c->state, c->now_ms, &c->out);
            break;
        case LEASE_RELEASE:
        case LEASE_END:
            CHECK_FAIL("no candidate was told to leave");
        }
    }
    CHECK(exists);
    lease_state_release(&pair[0].state);
    lease_state_release(&pair[1].state);
}
