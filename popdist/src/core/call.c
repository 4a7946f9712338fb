#include "popdist/src/core/call.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "popdist/src/core/fail.h"
#include "popdist/src/core/alloc.h"
#include "popdist/src/core/types.h"

#define NAMED_MAX 16 /* instances that a message lists */

static size_t data_size(const struct call *call)
{
    switch (call->layout.operation) {
    case OPERATION_BROADCAST:
    case OPERATION_ALL_REDUCE:
    case OPERATION_ALL_GATHER:
        return (size_t)call->layout.count * popdist_type_size(call->layout.type);
    case OPERATION_BARRIER:
    case OPERATION_REGISTER:
    case OPERATION_COUNT:
        break;
    }
    return 0;
}

/* The data fits into the announcements. */
static bool is_small(const struct call *call)
{
    return data_size(call) <= WIRE_PAYLOAD_MAX;
}

/* The payload of a participant's announcement. */
static size_t payload_size(const struct call *call, uint32_t rank)
{
    bool silent = call->layout.operation == OPERATION_BROADCAST && rank != call->layout.root;

    return is_small(call) && !silent ? data_size(call) : 0;
}

struct wire_message call_announcement(const struct call *call)
{
    uint32_t self = call->match_op.group->self;
    size_t size = payload_size(call, self);
    size_t at = call->layout.operation == OPERATION_ALL_GATHER ? self * size : 0;

    return (struct wire_message){
        .kind = WIRE_CALL,
        .layout = call->layout,
        .tag = call->tag,
        .key = call->match_op.key,
        .key_size = call->match_op.key_size,
        .payload = size ? (const uint8_t *)call->data + at : NULL,
        .payload_size = size,
    };
}

bool call_left_unmatched_data(const struct call *call)
{
    return call->exchange.streams && !exchange_is_done(&call->exchange);
}

void call_fail(struct call *call, enum popdist_status status, const char *fmt, ...)
{
    char reason[POPDIST_ERROR_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(reason, sizeof reason, fmt, args);
    va_end(args);
    call->state = CALL_DONE;
    call->status = fail(call->error, status, "%s \"%.200s\": %s", operation_name(call->layout.operation),
                        call->subject, reason);
}

/* "instance 3", "instances 1, 2 and 9 more": those for which the function returns true. */
static void list_instances(const struct call *call, bool (*pick)(const struct call *, uint32_t rank),
                           char *text, size_t size)
{
    const struct group *group = call->match_op.group;
    uint32_t count = 0, named = 0;
    size_t at;

    for (uint32_t rank = 0; rank < group->count; rank++)
        count += pick(call, rank);
    at = (size_t)snprintf(text, size, count == 1 ? "instance" : "instances");
    for (uint32_t rank = 0; rank < group->count && named < NAMED_MAX; rank++)
        if (pick(call, rank))
            at += (size_t)snprintf(text + at, size - at, "%s %" PRIu32, named++ ? "," : "",
                                   group->members[rank]);
    if (count > named)
        (void)snprintf(text + at, size - at, " and %" PRIu32 " more", count - named);
}

static bool is_missing(const struct call *call, uint32_t rank)
{
    return rank != call->match_op.group->self && !call->match_op.from[rank];
}

static bool is_stuck(const struct call *call, uint32_t rank)
{
    for (size_t i = rank; i < call->exchange.stream_count; i += call->match_op.group->count)
        if (!stream_is_done(&call->exchange.streams[i]))
            return true;
    return false;
}

/* Nobody has begun, or (is_lost) some instance does not say whether it has. */
static void abort_call(struct call *call, bool is_lost)
{
    char names[NAMED_MAX * 12 + 64];

    call->tells = WIRE_ABORT;
    call->is_lost = is_lost;
    list_instances(call, is_missing, names, sizeof names);
    call_fail(call, POPDIST_TIMEOUT, "%s did not join within %g s%s", names, (double)call->timeout_ms / 1000,
              is_lost ? ", and not all instances respond; the communicator is unusable" : "");
}

static void fail_stuck(struct call *call)
{
    char names[NAMED_MAX * 12 + 64];

    call->tells = WIRE_ABORT;
    list_instances(call, is_stuck, names, sizeof names);
    call_fail(call, POPDIST_TIMEOUT,
              "%s joined, but no data was exchanged for %g s; the communicator is unusable", names,
              (double)call->timeout_ms / 1000);
}

static void ask_for_votes(struct call *call, int64_t now_ms)
{
    call->state = CALL_VOTING;
    call->tells = WIRE_PREPARE_ABORT;
    call->missing_votes = call->match_op.group->count - 1;
    call->objected = false;
    call->deadline_ms = now_ms + (call->timeout_ms > CALL_ANSWER_MS ? call->timeout_ms : CALL_ANSWER_MS);
}

void call_take_vote(struct call *call, bool yes)
{
    if (call->state != CALL_VOTING || !call->missing_votes)
        return;
    call->missing_votes--;
    if (!yes)
        call->objected = true;
}

/* All have voted. */
static void decide(struct call *call, int64_t now_ms)
{
    if (!call->objected && call->match_op.missing) {
        abort_call(call, false);
        return;
    }
    call->state = CALL_GATHERING;
    call->tells = WIRE_RESUME;
    call->deadline_ms = now_ms + call->timeout_ms;
}

static void check_deadline(struct call *call, int64_t now_ms)
{
    if (now_ms < call->deadline_ms)
        return;
    if (call->state == CALL_GATHERING)
        ask_for_votes(call, now_ms);
    else if (call->state == CALL_VOTING)
        abort_call(call, true);
    else
        fail_stuck(call);
}

static const struct layout *layout_of(const struct call *call, uint32_t rank)
{
    return rank == call->match_op.group->self ? &call->layout : &call->match_op.from[rank]->layout;
}

/* All compare with the same instance, so all report the same sentence. */
static bool is_agreed(struct call *call)
{
    const struct group *group = call->match_op.group;
    const struct layout *first = layout_of(call, 0);

    for (uint32_t rank = 1; rank < group->count; rank++) {
        char one[80], other[80];

        if (layout_equals(first, layout_of(call, rank)))
            continue;
        layout_print(first, one, sizeof one);
        layout_print(layout_of(call, rank), other, sizeof other);
        call->state = CALL_DONE;
        call->status = fail(call->error, POPDIST_MISMATCH,
                            "Tensor layouts did not match on all instances: for \"%.200s\", instance %" PRIu32
                            " has %s and instance %" PRIu32 " has %s",
                            call->subject, group->members[0], one, group->members[rank], other);
        return false;
    }
    return true;
}

static bool has_sound_payloads(const struct call *call)
{
    const struct group *group = call->match_op.group;

    for (uint32_t rank = 0; rank < group->count; rank++)
        if (rank != group->self && call->match_op.from[rank]->size != payload_size(call, rank))
            return false;
    return true;
}

/* In order of rank on all instances, so that all get the same bits. */
static void reduce_small(struct call *call)
{
    alignas(16) uint8_t sum[WIRE_PAYLOAD_MAX];
    const struct group *group = call->match_op.group;
    const void *from;

    for (uint32_t rank = 0; rank < group->count; rank++) {
        from = rank == group->self ? call->data : call->match_op.from[rank]->payload;
        if (rank)
            type_sum(call->layout.type, sum, &from, 1, (size_t)call->layout.count);
        else
            memcpy(sum, from, data_size(call));
    }
    memcpy(call->data, sum, data_size(call));
}

static void finish_small(struct call *call)
{
    const struct group *group = call->match_op.group;
    size_t size = data_size(call);

    if (!size)
        return;
    if (call->layout.operation == OPERATION_ALL_REDUCE)
        reduce_small(call);
    else if (call->layout.operation == OPERATION_BROADCAST && group->self != call->layout.root)
        memcpy(call->data, call->match_op.from[call->layout.root]->payload, size);
    else if (call->layout.operation == OPERATION_ALL_GATHER)
        for (uint32_t rank = 0; rank < group->count; rank++)
            if (rank != group->self)
                memcpy((uint8_t *)call->data + rank * size, call->match_op.from[rank]->payload, size);
}

static enum popdist_status start_exchange(struct call *call)
{
    const struct group *group = call->match_op.group;
    uint32_t *tags = popdist_alloc(group->count, sizeof *tags);
    enum popdist_status status;

    if (!tags)
        return fail_memory(call->error);
    for (uint32_t rank = 0; rank < group->count; rank++)
        tags[rank] = rank == group->self ? call->tag : call->match_op.from[rank]->tag;
    status = exchange_start(&call->exchange, &call->layout, group, tags, call->data, call->error);
    popdist_free(tags);
    return status;
}

static void begin(struct call *call)
{
    call->match_op.begun = true;
    if (!is_agreed(call))
        return;
    if (!has_sound_payloads(call)) {
        call_fail(call, POPDIST_BROKEN, "the peer's message has the wrong size");
        return;
    }
    if (is_small(call)) {
        finish_small(call);
        call->state = CALL_SENDING;
        return;
    }
    call->status = start_exchange(call);
    call->state = call->status ? CALL_DONE : CALL_EXCHANGING;
}

enum popdist_status call_step(struct call *call, const struct link *link, int64_t now_ms, bool *moved,
                              struct popdist_error *error)
{
    bool exchanged = false;
    enum popdist_status status = POPDIST_OK;

    if (call->match_op.aborted && call->state <= CALL_EXCHANGING) {
        /* Otherwise the announcement of this instance would still wait where the call has not come. */
        call->tells = WIRE_ABORT;
        call_fail(call, POPDIST_TIMEOUT, "instance %" PRIu32 " timed out", call->match_op.aborted->instance);
        return POPDIST_OK;
    }
    if (call->state == CALL_VOTING && !call->missing_votes)
        decide(call, now_ms);
    if (call->state == CALL_GATHERING && !call->match_op.missing && !call->match_op.prepared) {
        begin(call);
        call->deadline_ms = now_ms + call->timeout_ms;
        *moved = true;
    }
    if (call->state == CALL_EXCHANGING) {
        status = exchange_step(&call->exchange, link, &exchanged, error);
        if (exchanged)
            call->deadline_ms = now_ms + call->timeout_ms;
        *moved |= exchanged;
        if (!status && exchange_is_done(&call->exchange))
            call->state = CALL_SENDING;
    }
    /* The others have everything they need from this instance except perhaps the announcement; it is sent
     * without this call, too. */
    if (call->state == CALL_SENDING && (!call->announcement->left || now_ms >= call->deadline_ms))
        call->state = CALL_DONE;
    if (!status && call->state != CALL_DONE)
        check_deadline(call, now_ms);
    return status;
}
