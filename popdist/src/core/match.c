#include "popdist/src/core/match.h"

#include <inttypes.h>
#include <string.h>

#include "popdist/src/core/fail.h"
#include "popdist/src/core/alloc.h"

#define BUCKETS 1024

struct skip {
    struct skip *next;
    uint32_t instance;
    uint32_t count;
};

/* The state of one key. */
struct match_entry {
    struct match_entry *next;
    struct match_entry **at;          /* the pointer to it */
    struct match_op *open;            /* calls of this instance, the oldest first */
    struct match_announcement *early; /* announcements without a call, the oldest first */
    struct skip *skips;
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

/* Where the entry is, or would be added. */
static struct match_entry **find_entry(struct match *match, const char *key, size_t size)
{
    struct match_entry **at = &match->buckets[bucket_of(key, size)];

    while (*at && ((*at)->key_size != size || memcmp((*at)->key, key, size) != 0))
        at = &(*at)->next;
    return at;
}

static struct match_entry *match_entry_get(struct match *match, const char *key, size_t size)
{
    struct match_entry **at = find_entry(match, key, size);
    struct match_entry *entry;

    if (*at)
        return *at;
    entry = popdist_alloc(1, sizeof *entry + size);
    if (!entry)
        return NULL;
    entry->at = at;
    entry->key_size = size;
    memcpy(entry->key, key, size);
    *at = entry;
    return entry;
}

static void forget_if_empty(struct match_entry *entry)
{
    if (entry->open || entry->early || entry->skips)
        return;
    *entry->at = entry->next;
    if (entry->next)
        entry->next->at = entry->at;
    popdist_free(entry);
}

void match_free(struct match *match)
{
    for (size_t i = 0; match && i < BUCKETS; i++) {
        struct match_entry *entry, *next_entry;

        for (entry = match->buckets[i]; entry; entry = next_entry) {
            struct match_announcement *announcement, *next_arrival;
            struct skip *skip, *next_skip;

            next_entry = entry->next;
            for (announcement = entry->early; announcement; announcement = next_arrival) {
                next_arrival = announcement->next;
                popdist_free(announcement);
            }
            for (skip = entry->skips; skip; skip = next_skip) {
                next_skip = skip->next;
                popdist_free(skip);
            }
            popdist_free(entry);
        }
    }
    popdist_free(match);
}

static void count_state(struct match_op *op, const struct match_announcement *announcement)
{
    if (announcement->state == ABORT_PREPARED)
        op->prepared++;
    if (announcement->state == ABORTED)
        op->aborted = announcement;
}

static void match_attach(struct match_op *op, uint32_t rank, struct match_announcement *announcement)
{
    announcement->next = NULL;
    op->from[rank] = announcement;
    op->missing--;
    count_state(op, announcement);
}

/* Takes the oldest early announcement of each participant. */
static void seat_early(struct match *match, struct match_entry *entry, struct match_op *op)
{
    struct match_announcement **at = &entry->early;

    while (*at) {
        struct match_announcement *announcement = *at;
        uint32_t rank = group_rank(op->group, announcement->instance);

        if (rank == GROUP_NOBODY || op->from[rank]) {
            at = &announcement->next;
            continue;
        }
        *at = announcement->next;
        match->early_count--;
        match_attach(op, rank, announcement);
    }
}

enum popdist_status match_open(struct match *match, struct match_op *op, struct popdist_error *error)
{
    struct match_entry *entry = match_entry_get(match, op->key, op->key_size);
    struct match_op **end;

    if (!entry)
        return fail_memory(error);
    op->match_entry = entry;
    op->missing = op->group->count - 1;
    op->prepared = 0;
    op->aborted = NULL;
    op->begun = false;
    op->next = NULL;
    for (end = &entry->open; *end;)
        end = &(*end)->next;
    *end = op;
    seat_early(match, entry, op);
    return POPDIST_OK;
}

static bool consume_late(struct match_entry *entry, uint32_t instance)
{
    for (struct skip **at = &entry->skips; *at; at = &(*at)->next) {
        struct skip *skip = *at;

        if (skip->instance != instance)
            continue;
        if (--skip->count == 0) {
            *at = skip->next;
            popdist_free(skip);
        }
        return true;
    }
    return false;
}

static bool expect_late(struct match_entry *entry, uint32_t instance)
{
    struct skip *skip;

    for (skip = entry->skips; skip && skip->instance != instance;)
        skip = skip->next;
    if (!skip) {
        skip = popdist_alloc(1, sizeof *skip);
        if (!skip)
            return false;
        skip->instance = instance;
        skip->next = entry->skips;
        entry->skips = skip;
    }
    skip->count++;
    return true;
}

static struct match_announcement *arrival_new(const struct wire_message *message, uint32_t instance)
{
    struct match_announcement *announcement = popdist_alloc(1, sizeof *announcement + message->payload_size);

    if (!announcement)
        return NULL;
    announcement->instance = instance;
    announcement->tag = message->tag;
    announcement->layout = message->layout;
    announcement->size = message->payload_size;
    if (message->payload_size)
        memcpy(announcement->payload, message->payload, message->payload_size);
    return announcement;
}

static enum popdist_status take_call(struct match *match, struct match_entry *entry,
                                     struct match_announcement *announcement, struct popdist_error *error)
{
    struct match_announcement **end;

    for (struct match_op *op = entry->open; op; op = op->next) {
        uint32_t rank = group_rank(op->group, announcement->instance);

        if (rank == GROUP_NOBODY || rank == op->group->self)
            break;
        if (!op->from[rank]) {
            match_attach(op, rank, announcement);
            return POPDIST_OK;
        }
    }
    if (match->early_count >= MATCH_EARLY_MAX) {
        uint32_t instance = announcement->instance;

        popdist_free(announcement);
        return fail(error, POPDIST_BROKEN,
                    "%d operations were started by other instances only (last: instance %" PRIu32
                    "); call the same operations on every instance",
                    MATCH_EARLY_MAX, instance);
    }
    for (end = &entry->early; *end;)
        end = &(*end)->next;
    *end = announcement;
    match->early_count++;
    return POPDIST_OK;
}

enum popdist_status match_take(struct match *match, const struct wire_message *message, uint32_t instance,
                               struct popdist_error *error)
{
    struct match_entry *entry = match_entry_get(match, message->key, message->key_size);
    enum popdist_status status = POPDIST_OK;

    if (!entry)
        return fail_memory(error);
    if (!consume_late(entry, instance)) {
        struct match_announcement *announcement = arrival_new(message, instance);

        status = announcement ? take_call(match, entry, announcement, error) : fail_memory(error);
    }
    forget_if_empty(entry);
    return status;
}

static bool set_early(struct match_entry *entry, uint32_t instance, uint32_t tag,
                      enum announcement_state state)
{
    for (struct match_announcement *early = entry->early; early; early = early->next) {
        if (early->instance != instance || early->tag != tag)
            continue;
        early->state = state;
        return true;
    }
    return false;
}

bool match_set_state(struct match *match, const struct wire_message *message, uint32_t instance,
                     enum announcement_state state)
{
    struct match_entry *entry = *find_entry(match, message->key, message->key_size);

    if (!entry)
        return false;
    for (struct match_op *op = entry->open; op; op = op->next) {
        uint32_t rank = group_rank(op->group, instance);
        struct match_announcement *announcement = rank == GROUP_NOBODY ? NULL : op->from[rank];

        if (!announcement || announcement->tag != message->tag)
            continue;
        if (op->begun && state == ABORT_PREPARED)
            return false;
        if (announcement->state == ABORT_PREPARED)
            op->prepared--;
        announcement->state = state;
        count_state(op, announcement);
        return true;
    }
    return set_early(entry, instance, message->tag, state);
}

const struct match_announcement *match_find_early(const struct match *match, const char **ret_key,
                                                  size_t *ret_key_size)
{
    for (size_t i = 0; i < BUCKETS && match->early_count; i++)
        for (const struct match_entry *entry = match->buckets[i]; entry; entry = entry->next)
            for (const struct match_announcement *early = entry->early; early; early = early->next)
                if (early->state != ABORTED) {
                    *ret_key = entry->key;
                    *ret_key_size = entry->key_size;
                    return early;
                }
    return NULL;
}

enum popdist_status match_close(struct match_op *op, struct popdist_error *error)
{
    struct match_entry *entry = op->match_entry;
    struct match_op **at = &entry->open;
    enum popdist_status status = POPDIST_OK;

    while (*at != op)
        at = &(*at)->next;
    *at = op->next;
    for (uint32_t rank = 0; rank < op->group->count; rank++) {
        if (op->from[rank])
            popdist_free(op->from[rank]);
        else if (rank != op->group->self && !expect_late(entry, op->group->members[rank]))
            status = fail_memory(error);
        op->from[rank] = NULL;
    }
    forget_if_empty(entry);
    return status;
}
