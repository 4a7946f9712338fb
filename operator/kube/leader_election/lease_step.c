#include "operator/kube/leader_election/lease_step.h"

#include "base/core/mem.h"

#define DURATION_MS ((int64_t)15000)
#define RENEW_DEADLINE_MS ((int64_t)10000)
#define RETRY_MS ((int64_t)2000)
#define STANDBY_READ_MS ((int64_t)250)
#define HOLDER_RETRY_MS ((int64_t)500)
#define LONGEST_LEASE_S ((int64_t)3600)

void lease_state_init(struct lease_state *state, const char *self)
{
    *state = (struct lease_state){
        .self = self,
        .duration_ms = DURATION_MS,
        .renew_deadline_ms = RENEW_DEADLINE_MS,
        .retry_ms = RETRY_MS,
        .known_ms = -1,
    };
}

void lease_state_release(struct lease_state *state)
{
    mem_free(state->resource_version);
    mem_free(state->other);
    mem_free(state->other_note);
    *state = (struct lease_state){0};
}

int64_t lease_deadline_ms(const struct lease_state *state)
{
    return state->is_held ? state->renewed_ms + state->renew_deadline_ms : INT64_MAX;
}

bool lease_state_is_held(const struct lease_state *state, int64_t clock_ms)
{
    return state->is_held && clock_ms < lease_deadline_ms(state);
}

bool lease_state_is_known(const struct lease_state *state, int64_t clock_ms)
{
    return state->is_held || (state->known_ms >= 0 && clock_ms < state->known_ms + state->duration_ms);
}

static void lose_lease(struct lease_state *state, struct lease_output *out)
{
    out->was_lost = state->is_held;
    state->is_held = false;
}

static void set_wait(struct lease_output *out, int64_t wait_ms)
{
    out->act = LEASE_WAIT;
    out->wait_ms = wait_ms;
}

int64_t lease_request_timeout_ms(const struct lease_state *state, int64_t now_ms)
{
    int64_t left_ms = lease_deadline_ms(state) - now_ms;

    if (!state->is_held)
        return state->renew_deadline_ms / 2;
    return left_ms > 0 ? left_ms : 1;
}

/* A holder retries sooner: it stops at its deadline. */
static void retry(const struct lease_state *state, int64_t now_ms, struct lease_output *out)
{
    int64_t left_ms = lease_deadline_ms(state) - now_ms;
    int64_t wait_ms = state->is_held && HOLDER_RETRY_MS < state->retry_ms ? HOLDER_RETRY_MS : state->retry_ms;

    set_wait(out, left_ms > 0 && left_ms < wait_ms ? left_ms : wait_ms);
}

static void check_deadline(struct lease_state *state, int64_t now_ms, struct lease_output *out)
{
    *out = (struct lease_output){.act = LEASE_WAIT};
    if (state->is_held && now_ms >= lease_deadline_ms(state))
        lose_lease(state, out);
}

/* When the last observed holder must have stopped. */
static int64_t other_ends_ms(const struct lease_state *state)
{
    return state->other_seen_ms + state->other_lasts_ms;
}

/* Another holder's lease may have changed meanwhile: read it before writing. If it has expired, write
 * directly: the API server rejects the write if the lease has changed. */
void lease_on_time(struct lease_state *state, int64_t now_ms, struct lease_output *ret)
{
    check_deadline(state, now_ms, ret);
    if (state->resource_version != NULL && (state->is_held || now_ms >= other_ends_ms(state)))
        ret->act = LEASE_WRITE;
    else
        ret->act = LEASE_READ;
}

/* The holder may count on the default duration even if the record was edited to a shorter one. */
static void note_observed_lease(struct lease_state *state, const struct lease_record *record, int64_t now_ms)
{
    bool changed = !str_eq(state->resource_version, record->resource_version);

    mem_set_str(&state->resource_version, record->resource_version);
    state->transitions = record->transitions;
    state->other_lasts_ms =
        record->duration_ms > state->duration_ms ? record->duration_ms : state->duration_ms;
    if (changed || !str_eq(state->other, record->holder))
        state->other_seen_ms = now_ms;
    mem_set_str(&state->other, record->holder);
    mem_set_str(&state->other_note, record->note);
}

/* The lease was released or has expired. An empty holder alone is not a release: an admin may have cleared
 * the field while the holder is still leading. */
static bool is_free(const struct lease_state *state, const struct lease_record *record, int64_t now_ms)
{
    bool is_given_back = record->holder[0] == '\0' && record->duration_ms <= LEASE_RELEASED_DURATION_S * 1000;

    return is_given_back || now_ms >= other_ends_ms(state);
}

static void note_holder_known(struct lease_state *state, int64_t now_ms)
{
    state->known_ms = now_ms;
    state->trouble = (struct err){0};
}

/* Not found, conflict and already exists are normal when candidates compete: the lease is read again. */
static void note_failure(struct lease_state *state, const struct err *err)
{
    if (err->kind != ERR_NOT_FOUND && err->kind != ERR_CONFLICT && err->kind != ERR_EXISTS)
        state->trouble = *err;
}

static void release_or_end(struct lease_state *state, const struct lease_record *record,
                           struct lease_output *out)
{
    bool is_ours = record != NULL && str_eq(record->holder, state->self);

    if (is_ours)
        mem_set_str(&state->resource_version, record->resource_version);
    out->act = is_ours ? LEASE_RELEASE : LEASE_END;
}

/* A standby reads more often than a holder renews, and writes exactly when the lease of a crashed holder
 * expires: the lease has a new holder within a second after its release, and within 16 s after a crash. A
 * change counts from when it is seen, so reading adds at most a quarter of a second. */
static int64_t next_read_ms(const struct lease_state *state, int64_t now_ms)
{
    int64_t left_ms = other_ends_ms(state) - now_ms;
    int64_t look_ms = state->retry_ms < STANDBY_READ_MS ? state->retry_ms : STANDBY_READ_MS;

    return left_ms < look_ms ? left_ms : look_ms;
}

static void on_lease_found(struct lease_state *state, const struct lease_record *record, int64_t now_ms,
                           struct lease_output *out)
{
    note_observed_lease(state, record, now_ms);
    if (str_eq(record->holder, state->self)) {
        out->act = LEASE_WRITE;
        return;
    }
    if (state->is_held)
        lose_lease(state, out);
    if (is_free(state, record, now_ms)) {
        out->act = LEASE_WRITE;
        return;
    }
    note_holder_known(state, now_ms);
    set_wait(out, next_read_ms(state, now_ms));
}

/* The Lease object was deleted. Its last holder still leads until its lease time is over and will re-create
 * the object, so wait that long. */
static void on_lease_missing(const struct lease_state *state, int64_t now_ms, struct lease_output *out)
{
    bool is_others = !state->is_held && state->other != NULL && state->other[0] != '\0' &&
                     !str_eq(state->other, state->self);

    if (is_others && now_ms < other_ends_ms(state))
        set_wait(out, next_read_ms(state, now_ms));
    else
        out->act = LEASE_CREATE;
}

void lease_on_read(struct lease_state *state, const struct lease_record *record, const struct err *err,
                   int64_t now_ms, struct lease_output *ret)
{
    check_deadline(state, now_ms, ret);
    if (record == NULL)
        note_failure(state, err);
    if (state->is_releasing)
        release_or_end(state, record, ret);
    else if (record != NULL)
        on_lease_found(state, record, now_ms, ret);
    else if (err->kind == ERR_NOT_FOUND)
        on_lease_missing(state, now_ms, ret);
    else
        retry(state, now_ms, ret);
}

/* A lease that was lost in this step stays lost, although the write shows it as ours: its owner is told to
 * stop. */
static void on_lease_written(struct lease_state *state, const struct lease_record *record, int64_t now_ms,
                             struct lease_output *out)
{
    bool is_in_time = now_ms < state->sent_ms + state->renew_deadline_ms;

    note_observed_lease(state, record, now_ms);
    note_holder_known(state, now_ms);
    state->renewed_ms = state->sent_ms;
    out->has_started = !state->is_held && !out->was_lost && is_in_time;
    state->is_held = state->is_held || out->has_started;
    set_wait(out, state->sent_ms + state->retry_ms > now_ms ? state->sent_ms + state->retry_ms - now_ms : 0);
}

void lease_on_written(struct lease_state *state, const struct lease_record *record, const struct err *err,
                      int64_t now_ms, struct lease_output *ret)
{
    check_deadline(state, now_ms, ret);
    if (record == NULL)
        note_failure(state, err);
    if (state->is_releasing && (record != NULL || err->kind != ERR_CONFLICT)) {
        release_or_end(state, record, ret);
    } else if (record != NULL) {
        on_lease_written(state, record, now_ms, ret);
    } else if (err->kind == ERR_NOT_FOUND && state->resource_version == NULL) {
        state->trouble = *err; /* the Lease cannot be created either: its namespace does not exist */
        retry(state, now_ms, ret);
    } else if (err->kind == ERR_CONFLICT || err->kind == ERR_EXISTS || err->kind == ERR_NOT_FOUND) {
        /* The record is not as expected, or a write of unknown outcome changed it. */
        mem_set_str(&state->resource_version, NULL);
        ret->act = LEASE_READ;
    } else {
        retry(state, now_ms, ret);
    }
}

void lease_begin_release(struct lease_state *state, bool is_writing, struct lease_output *ret)
{
    *ret = (struct lease_output){.act = LEASE_END};
    if (is_writing)
        ret->act = LEASE_WAIT;
    else if (state->is_held && state->resource_version != NULL)
        ret->act = LEASE_RELEASE;
    state->is_releasing = true;
    state->is_held = false;
}

bool lease_record_read(const cJSON *lease, struct lease_record *ret)
{
    const cJSON *spec = json_at(lease, "spec");
    const char *version = json_str(lease, "metadata/resourceVersion", "");
    int64_t seconds = json_i64(spec, "leaseDurationSeconds", 0);
    int64_t transitions = json_i64(spec, "leaseTransitions", 0);

    if (!str_eq(json_str(lease, "kind", ""), "Lease") || version[0] == '\0')
        return false;
    if (seconds <= 0 || seconds > LONGEST_LEASE_S)
        seconds = DURATION_MS / 1000;
    *ret = (struct lease_record){
        .resource_version = version,
        .holder = json_str(spec, "holderIdentity", ""),
        .note = json_str(lease, "metadata/annotations/graphcore.ai~1leader-note", ""),
        .duration_ms = seconds * 1000,
        .transitions = transitions < INT32_MAX ? transitions : 0, /* one more must fit */
    };
    return true;
}
