#include "popdist/src/match.h"

#include <inttypes.h>
#include <string.h>

#include "popdist/src/fail.h"
#include "popdist/src/alloc.h"

#define BUCKETS 1024

struct debt {
    struct debt *next;
    uint32_t instance;
    uint32_t count;
};

/* The state of one key. */
struct match_entry {
    struct match_entry *next;
    struct match_entry **at;          /* the pointer to it */
    struct match_op *open;            /* calls of this instance, the oldest first */
    struct match_announcement *early; /* announcements without a call, the oldest first */
    struct debt *debts;
    size_t key_size;
    char key[];
};

struct match {
    size_t early_count;
    struct match_entry *buckets[BUCKETS];
};

enum popdist_status match_new(struct match **ret, struct popdist_error *error)
{
    struct match *match = popdist_alloc(1, sizeof *match);

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

static struct match_entry *meeting_get(struct match *match, const char *key, size_t size)
{
    struct match_entry **at = &match->buckets[bucket_of(key, size)];
    struct match_entry *match_entry;

    while (*at && ((*at)->key_size != size || memcmp((*at)->key, key, size) != 0))
        at = &(*at)->next;
    if (*at)
        return *at;
    match_entry = popdist_alloc(1, sizeof *match_entry + size);
    if (!match_entry)
        return NULL;
    match_entry->at = at;
    match_entry->key_size = size;
    memcpy(match_entry->key, key, size);
    *at = match_entry;
    return match_entry;
}

static void forget_if_empty(struct match_entry *match_entry)
{
    if (match_entry->open || match_entry->early || match_entry->debts)
        return;
    *match_entry->at = match_entry->next;
    if (match_entry->next)
        match_entry->next->at = match_entry->at;
    popdist_free(match_entry);
}

void match_free(struct match *match)
{
    for (size_t i = 0; match && i < BUCKETS; i++) {
        struct match_entry *match_entry, *next_meeting;

        for (match_entry = match->buckets[i]; match_entry; match_entry = next_meeting) {
            struct match_announcement *match_announcement, *next_arrival;
            struct debt *debt, *next_debt;

            next_meeting = match_entry->next;
            for (match_announcement = match_entry->early; match_announcement;
                 match_announcement = next_arrival) {
                next_arrival = match_announcement->next;
                popdist_free(match_announcement);
            }
            for (debt = match_entry->debts; debt; debt = next_debt) {
                next_debt = debt->next;
                popdist_free(debt);
            }
            popdist_free(match_entry);
        }
    }
    popdist_free(match);
}

static void match_attach(struct match_op *match_op, uint32_t rank,
                         struct match_announcement *match_announcement)
{
    match_announcement->next = NULL;
    match_op->from[rank] = match_announcement;
    match_op->missing--;
    if (match_announcement->withdrawn)
        match_op->withdrawn = match_announcement;
}

/* Takes the oldest early announcement of each participant. */
static void seat_early(struct match *match, struct match_entry *match_entry, struct match_op *match_op)
{
    struct match_announcement **at = &match_entry->early;

    while (*at) {
        struct match_announcement *match_announcement = *at;
        uint32_t rank = group_rank(match_op->group, match_announcement->instance);

        if (rank == GROUP_NOBODY || match_op->from[rank]) {
            at = &match_announcement->next;
            continue;
        }
        *at = match_announcement->next;
        match->early_count--;
        match_attach(match_op, rank, match_announcement);
    }
}

enum popdist_status match_open(struct match *match, struct match_op *match_op, struct popdist_error *error)
{
    struct match_entry *match_entry = meeting_get(match, match_op->key, match_op->key_size);
    struct match_op **end;

    if (!match_entry)
        return fail_memory(error);
    match_op->match_entry = match_entry;
    match_op->missing = match_op->group->count - 1;
    match_op->withdrawn = NULL;
    match_op->next = NULL;
    for (end = &match_entry->open; *end;)
        end = &(*end)->next;
    *end = match_op;
    seat_early(match, match_entry, match_op);
    return POPDIST_OK;
}

static bool consume_late(struct match_entry *match_entry, uint32_t instance)
{
    for (struct debt **at = &match_entry->debts; *at; at = &(*at)->next) {
        struct debt *debt = *at;

        if (debt->instance != instance)
            continue;
        if (--debt->count == 0) {
            *at = debt->next;
            popdist_free(debt);
        }
        return true;
    }
    return false;
}

static bool expect_late(struct match_entry *match_entry, uint32_t instance)
{
    struct debt *debt;

    for (debt = match_entry->debts; debt && debt->instance != instance;)
        debt = debt->next;
    if (!debt) {
        debt = popdist_alloc(1, sizeof *debt);
        if (!debt)
            return false;
        debt->instance = instance;
        debt->next = match_entry->debts;
        match_entry->debts = debt;
    }
    debt->count++;
    return true;
}

static struct match_announcement *arrival_new(const struct wire_message *message, uint32_t instance)
{
    struct match_announcement *match_announcement =
        popdist_alloc(1, sizeof *match_announcement + message->payload_size);

    if (!match_announcement)
        return NULL;
    match_announcement->instance = instance;
    match_announcement->tag = message->tag;
    match_announcement->layout = message->layout;
    match_announcement->size = message->payload_size;
    if (message->payload_size)
        memcpy(match_announcement->payload, message->payload, message->payload_size);
    return match_announcement;
}

static enum popdist_status take_call(struct match *match, struct match_entry *match_entry,
                                     struct match_announcement *match_announcement,
                                     struct popdist_error *error)
{
    struct match_announcement **end;

    for (struct match_op *match_op = match_entry->open; match_op; match_op = match_op->next) {
        uint32_t rank = group_rank(match_op->group, match_announcement->instance);

        if (rank == GROUP_NOBODY || rank == match_op->group->self)
            break;
        if (!match_op->from[rank]) {
            match_attach(match_op, rank, match_announcement);
            return POPDIST_OK;
        }
    }
    if (match->early_count >= MATCH_EARLY_MAX) {
        uint32_t instance = match_announcement->instance;

        popdist_free(match_announcement);
        return fail(error, POPDIST_BROKEN,
                    "%d operations were started by other instances only (last: instance %" PRIu32
                    "); call the same operations on every instance",
                    MATCH_EARLY_MAX, instance);
    }
    for (end = &match_entry->early; *end;)
        end = &(*end)->next;
    *end = match_announcement;
    match->early_count++;
    return POPDIST_OK;
}

/* The call may have ended here: then the withdrawal comes too late and has no effect. */
static void take_withdrawal(struct match_entry *match_entry, uint32_t instance, uint32_t tag)
{
    for (struct match_announcement *early = match_entry->early; early; early = early->next)
        if (early->instance == instance && early->tag == tag)
            early->withdrawn = true;
    for (struct match_op *match_op = match_entry->open; match_op; match_op = match_op->next) {
        uint32_t rank = group_rank(match_op->group, instance);
        struct match_announcement *match_announcement = rank == GROUP_NOBODY ? NULL : match_op->from[rank];

        if (match_announcement && match_announcement->tag == tag) {
            match_announcement->withdrawn = true;
            match_op->withdrawn = match_announcement;
        }
    }
}

enum popdist_status match_take(struct match *match, const struct wire_message *message, uint32_t instance,
                               struct popdist_error *error)
{
    struct match_entry *match_entry = meeting_get(match, message->key, message->key_size);
    enum popdist_status status = POPDIST_OK;

    if (!match_entry)
        return fail_memory(error);
    if (message->kind == WIRE_WITHDRAWAL) {
        take_withdrawal(match_entry, instance, message->tag);
    } else if (!consume_late(match_entry, instance)) {
        struct match_announcement *match_announcement = arrival_new(message, instance);

        status = match_announcement ? take_call(match, match_entry, match_announcement, error)
                                    : fail_memory(error);
    }
    forget_if_empty(match_entry);
    return status;
}

enum popdist_status match_close(struct match_op *match_op, struct popdist_error *error)
{
    struct match_entry *match_entry = match_op->match_entry;
    struct match_op **at = &match_entry->open;
    enum popdist_status status = POPDIST_OK;

    while (*at != match_op)
        at = &(*at)->next;
    *at = match_op->next;
    for (uint32_t rank = 0; rank < match_op->group->count; rank++) {
        if (match_op->from[rank])
            popdist_free(match_op->from[rank]);
        else if (rank != match_op->group->self && !expect_late(match_entry, match_op->group->members[rank]))
            status = fail_memory(error);
        match_op->from[rank] = NULL;
    }
    forget_if_empty(match_entry);
    return status;
}
