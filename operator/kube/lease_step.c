#include "operator/kube/lease_step.h"

#include "base/core/mem.h"

#define DURATION_MS ((int64_t)15000)
#define RENEW_DEADLINE_MS ((int64_t)10000)
#define RETRY_MS ((int64_t)2000)
#define LOOK_MS ((int64_t)500)
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

static void lose(struct lease_state *state, struct lease_output *out)
{
    out->was_lost = state->is_held;
    state->is_held = false;
}

static void wait(struct lease_output *out, int64_t wait_ms)
{
    out->act = LEASE_WAIT;
    out->wait_ms = wait_ms;
}

int64_t lease_patience_ms(const struct lease_state *state, int64_t now_ms)
{
    int64_t left_ms = lease_deadline_ms(state) - now_ms;

    if (!state->is_held)
        return state->renew_deadline_ms / 2;
    return left_ms > 0 ? left_ms : 1;
}

/* A holder has little time to lose. */
static void retry(const struct lease_state *state, int64_t now_ms, struct lease_output *out)
{
    int64_t left_ms = lease_deadline_ms(state) - now_ms;
    int64_t wait_ms = state->is_held && LOOK_MS < state->retry_ms ? LOOK_MS : state->retry_ms;

    wait(out, left_ms > 0 && left_ms < wait_ms ? left_ms : wait_ms);
}

static void check_deadline(struct lease_state *state, int64_t now_ms, struct lease_output *out)
{
    *out = (struct lease_output){.act = LEASE_WAIT};
    if (state->is_held && now_ms >= lease_deadline_ms(state))
        lose(state, out);
}

/* A lease that we do not hold may have changed while we waited: look before writing. */
void lease_on_time(struct lease_state *state, int64_t now_ms, struct lease_output *ret)
{
    check_deadline(state, now_ms, ret);
    ret->act = state->is_held && state->resource_version != NULL ? LEASE_WRITE : LEASE_READ;
}

static void remember(struct lease_state *state, const struct lease_record *record, int64_t now_ms)
{
    bool changed = !str_eq(state->resource_version, record->resource_version);

    mem_set_str(&state->resource_version, record->resource_version);
    state->transitions = record->transitions;
    state->other_lasts_ms = record->duration_ms;
    if (changed || !str_eq(state->other, record->holder))
        state->other_seen_ms = now_ms;
    mem_set_str(&state->other, record->holder);
}

static bool is_free(const struct lease_state *state, const struct lease_record *record, int64_t now_ms)
{
    return record->holder[0] == '\0' || now_ms - state->other_seen_ms >= state->other_lasts_ms;
}

static void is_known_now(struct lease_state *state, int64_t now_ms)
{
    state->known_ms = now_ms;
    state->trouble = (struct err){0};
}

/* Candidates meet: whose answer is that there is none yet, or a newer one, looks again. */
static void note_failure(struct lease_state *state, const struct err *err)
{
    if (err->kind != ERR_NOT_FOUND && err->kind != ERR_CONFLICT && err->kind != ERR_EXISTS)
        state->trouble = *err;
}

static void leave_or_end(const struct lease_state *state, const struct lease_record *record,
                         struct lease_output *out)
{
    bool is_ours = record != NULL && str_eq(record->holder, state->self);

    out->act = is_ours ? LEASE_RELEASE : LEASE_END;
}

/* Who stands by looks more often than a holder renews, and exactly when a dead one's time is over: a lease
 * has a new holder within a second of being given back, and within 16 s of its holder's death. */
static int64_t look_again_ms(const struct lease_state *state, int64_t now_ms)
{
    int64_t left_ms = state->other_seen_ms + state->other_lasts_ms - now_ms;
    int64_t look_ms = state->retry_ms < LOOK_MS ? state->retry_ms : LOOK_MS;

    return left_ms < look_ms ? left_ms : look_ms;
}

static void found(struct lease_state *state, const struct lease_record *record, int64_t now_ms,
                  struct lease_output *out)
{
    remember(state, record, now_ms);
    if (str_eq(record->holder, state->self)) {
        out->act = LEASE_WRITE;
        return;
    }
    if (state->is_held)
        lose(state, out);
    if (is_free(state, record, now_ms)) {
        out->act = LEASE_WRITE;
        return;
    }
    is_known_now(state, now_ms);
    wait(out, look_again_ms(state, now_ms));
}

void lease_on_read(struct lease_state *state, const struct lease_record *record, const struct err *err,
                   int64_t now_ms, struct lease_output *ret)
{
    check_deadline(state, now_ms, ret);
    if (record == NULL)
        note_failure(state, err);
    if (state->is_leaving && record != NULL)
        mem_set_str(&state->resource_version, record->resource_version);
    if (state->is_leaving)
        leave_or_end(state, record, ret);
    else if (record != NULL)
        found(state, record, now_ms, ret);
    else if (err->kind == ERR_NOT_FOUND)
        ret->act = LEASE_CREATE;
    else
        retry(state, now_ms, ret);
}

static void written(struct lease_state *state, const struct lease_record *record, int64_t now_ms,
                    struct lease_output *out)
{
    remember(state, record, now_ms);
    is_known_now(state, now_ms);
    state->renewed_ms = state->sent_ms;
    out->has_started = !state->is_held && now_ms < state->sent_ms + state->renew_deadline_ms;
    state->is_held = state->is_held || out->has_started;
    wait(out, state->sent_ms + state->retry_ms > now_ms ? state->sent_ms + state->retry_ms - now_ms : 0);
}

/* The record is not as we thought, or a write of unknown outcome changed it. */
static void look_again(struct lease_state *state, struct lease_output *out)
{
    mem_set_str(&state->resource_version, NULL);
    out->act = LEASE_READ;
}

void lease_on_written(struct lease_state *state, const struct lease_record *record, const struct err *err,
                      int64_t now_ms, struct lease_output *ret)
{
    check_deadline(state, now_ms, ret);
    if (record == NULL)
        note_failure(state, err);
    if (state->is_leaving && (record != NULL || err->kind != ERR_CONFLICT))
        ret->act = LEASE_END;
    else if (record != NULL)
        written(state, record, now_ms, ret);
    else if (err->kind == ERR_CONFLICT || err->kind == ERR_EXISTS || err->kind == ERR_NOT_FOUND)
        look_again(state, ret);
    else
        retry(state, now_ms, ret);
}

void lease_leave(struct lease_state *state, struct lease_output *ret)
{
    *ret = (struct lease_output){.act = LEASE_END};
    if (state->is_held && state->resource_version != NULL)
        ret->act = LEASE_RELEASE;
    state->is_leaving = true;
    state->is_held = false;
}

bool lease_record_read(const cJSON *lease, struct lease_record *ret)
{
    const cJSON *spec = json_at(lease, "spec");
    const char *version = json_str(lease, "metadata/resourceVersion", "");
    int64_t seconds = json_i64(spec, "leaseDurationSeconds", 0);

    if (!str_eq(json_str(lease, "kind", ""), "Lease") || version[0] == '\0')
        return false;
    if (seconds <= 0 || seconds > LONGEST_LEASE_S)
        seconds = DURATION_MS / 1000;
    *ret = (struct lease_record){
        .resource_version = version,
        .holder = json_str(spec, "holderIdentity", ""),
        .duration_ms = seconds * 1000,
        .transitions = json_i64(spec, "leaseTransitions", 0),
    };
    return true;
}
