#include "popdist/src/match.h"

#include <inttypes.h>
#include <string.h>

#include "popdist/src/fail.h"
#include "popdist/src/memory.h"

#define BUCKETS 1024

struct debt {
    struct debt *next;
    uint32_t instance;
    uint32_t count;
};

/* All there is about one key. */
struct meeting {
    struct meeting *next;
    struct meeting **at;   /* what points to it */
    struct turnout *open;  /* calls of this instance, the oldest first */
    struct arrival *early; /* announcements without a call, the oldest first */
    struct debt *debts;
    size_t key_size;
    char key[];
};

struct match {
    size_t early_count;
    struct meeting *buckets[BUCKETS];
};

enum popdist_status match_new(struct match **ret, struct popdist_error *error)
{
    struct match *match = memory_new(1, sizeof *match);

    if (!match)
        return fail_memory(error);
    *ret = match;
    return POPDIST_OK;
}

/* Eight bytes at a time: every operation does this twice. */
static size_t bucket_of(const char *key, size_t size)
{
    uint64_t hash = size, word;

    for (; size >= sizeof word; key += sizeof word, size -= sizeof word) {
        memcpy(&word, key, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
        hash ^= hash >> 32;
    }
    for (; size; size--)
        hash = (hash ^ (uint8_t)*key++) * 0x100000001b3U;
    return (hash ^ hash >> 32) % BUCKETS;
}

static struct meeting *meeting_get(struct match *match, const char *key, size_t size)
{
    struct meeting **at = &match->buckets[bucket_of(key, size)];
    struct meeting *meeting;

    while (*at && ((*at)->key_size != size || memcmp((*at)->key, key, size) != 0))
        at = &(*at)->next;
    if (*at)
        return *at;
    meeting = memory_new(1, sizeof *meeting + size);
    if (!meeting)
        return NULL;
    meeting->at = at;
    meeting->key_size = size;
    memcpy(meeting->key, key, size);
    *at = meeting;
    return meeting;
}

static void forget_if_empty(struct meeting *meeting)
{
    if (meeting->open || meeting->early || meeting->debts)
        return;
    *meeting->at = meeting->next;
    if (meeting->next)
        meeting->next->at = meeting->at;
    memory_free(meeting);
}

void match_free(struct match *match)
{
    for (size_t i = 0; match && i < BUCKETS; i++) {
        struct meeting *meeting, *next_meeting;

        for (meeting = match->buckets[i]; meeting; meeting = next_meeting) {
            struct arrival *arrival, *next_arrival;
            struct debt *debt, *next_debt;

            next_meeting = meeting->next;
            for (arrival = meeting->early; arrival; arrival = next_arrival) {
                next_arrival = arrival->next;
                memory_free(arrival);
            }
            for (debt = meeting->debts; debt; debt = next_debt) {
                next_debt = debt->next;
                memory_free(debt);
            }
            memory_free(meeting);
        }
    }
    memory_free(match);
}

static void seat(struct turnout *turnout, uint32_t rank, struct arrival *arrival)
{
    arrival->next = NULL;
    turnout->from[rank] = arrival;
    turnout->missing--;
    if (arrival->withdrawn)
        turnout->withdrawn = arrival;
}

/* Takes the oldest early announcement of each participant. */
static void seat_early(struct match *match, struct meeting *meeting, struct turnout *turnout)
{
    struct arrival **at = &meeting->early;

    while (*at) {
        struct arrival *arrival = *at;
        uint32_t rank = group_rank(turnout->group, arrival->instance);

        if (rank == GROUP_NOBODY || turnout->from[rank]) {
            at = &arrival->next;
            continue;
        }
        *at = arrival->next;
        match->early_count--;
        seat(turnout, rank, arrival);
    }
}

enum popdist_status match_open(struct match *match, struct turnout *turnout, struct popdist_error *error)
{
    struct meeting *meeting = meeting_get(match, turnout->key, turnout->key_size);
    struct turnout **end;

    if (!meeting)
        return fail_memory(error);
    turnout->meeting = meeting;
    turnout->missing = turnout->group->count - 1;
    turnout->withdrawn = NULL;
    turnout->next = NULL;
    for (end = &meeting->open; *end;)
        end = &(*end)->next;
    *end = turnout;
    seat_early(match, meeting, turnout);
    return POPDIST_OK;
}

static bool pay_debt(struct meeting *meeting, uint32_t instance)
{
    for (struct debt **at = &meeting->debts; *at; at = &(*at)->next) {
        struct debt *debt = *at;

        if (debt->instance != instance)
            continue;
        if (--debt->count == 0) {
            *at = debt->next;
            memory_free(debt);
        }
        return true;
    }
    return false;
}

static bool owe(struct meeting *meeting, uint32_t instance)
{
    struct debt *debt;

    for (debt = meeting->debts; debt && debt->instance != instance;)
        debt = debt->next;
    if (!debt) {
        debt = memory_new(1, sizeof *debt);
        if (!debt)
            return false;
        debt->instance = instance;
        debt->next = meeting->debts;
        meeting->debts = debt;
    }
    debt->count++;
    return true;
}

static struct arrival *arrival_new(const struct wire_message *message, uint32_t instance)
{
    struct arrival *arrival = memory_new(1, sizeof *arrival + message->payload_size);

    if (!arrival)
        return NULL;
    arrival->instance = instance;
    arrival->tag = message->tag;
    arrival->layout = message->layout;
    arrival->size = message->payload_size;
    if (message->payload_size)
        memcpy(arrival->payload, message->payload, message->payload_size);
    return arrival;
}

static enum popdist_status take_call(struct match *match, struct meeting *meeting, struct arrival *arrival,
                                     struct popdist_error *error)
{
    struct arrival **end;

    for (struct turnout *turnout = meeting->open; turnout; turnout = turnout->next) {
        uint32_t rank = group_rank(turnout->group, arrival->instance);

        if (rank == GROUP_NOBODY || rank == turnout->group->self)
            break;
        if (!turnout->from[rank]) {
            seat(turnout, rank, arrival);
            return POPDIST_OK;
        }
    }
    if (match->early_count >= MATCH_EARLY_MAX) {
        uint32_t instance = arrival->instance;

        memory_free(arrival);
        return fail(
            error, POPDIST_BROKEN,
            "%d operations wait here that this instance has not called, the last from instance %" PRIu32
            "; call the same operations on all instances",
            MATCH_EARLY_MAX, instance);
    }
    for (end = &meeting->early; *end;)
        end = &(*end)->next;
    *end = arrival;
    match->early_count++;
    return POPDIST_OK;
}

/* The call may be over here: then the withdrawal comes too late and says nothing. */
static void take_withdrawal(struct meeting *meeting, uint32_t instance, uint32_t tag)
{
    for (struct arrival *early = meeting->early; early; early = early->next)
        if (early->instance == instance && early->tag == tag)
            early->withdrawn = true;
    for (struct turnout *turnout = meeting->open; turnout; turnout = turnout->next) {
        uint32_t rank = group_rank(turnout->group, instance);
        struct arrival *arrival = rank == GROUP_NOBODY ? NULL : turnout->from[rank];

        if (arrival && arrival->tag == tag) {
            arrival->withdrawn = true;
            turnout->withdrawn = arrival;
        }
    }
}

enum popdist_status match_take(struct match *match, const struct wire_message *message, uint32_t instance,
                               struct popdist_error *error)
{
    struct meeting *meeting = meeting_get(match, message->key, message->key_size);
    enum popdist_status status = POPDIST_OK;

    if (!meeting)
        return fail_memory(error);
    if (message->kind == WIRE_WITHDRAWAL) {
        take_withdrawal(meeting, instance, message->tag);
    } else if (!pay_debt(meeting, instance)) {
        struct arrival *arrival = arrival_new(message, instance);

        status = arrival ? take_call(match, meeting, arrival, error) : fail_memory(error);
    }
    forget_if_empty(meeting);
    return status;
}

enum popdist_status match_close(struct turnout *turnout, struct popdist_error *error)
{
    struct meeting *meeting = turnout->meeting;
    struct turnout **at = &meeting->open;
    enum popdist_status status = POPDIST_OK;

    while (*at != turnout)
        at = &(*at)->next;
    *at = turnout->next;
    for (uint32_t rank = 0; rank < turnout->group->count; rank++) {
        if (turnout->from[rank])
            memory_free(turnout->from[rank]);
        else if (rank != turnout->group->self && !owe(meeting, turnout->group->members[rank]))
            status = fail_memory(error);
        turnout->from[rank] = NULL;
    }
    forget_if_empty(meeting);
    return status;
}
