#include "operator/pool/queue_snapshot.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/core/mem.h"
#include "base/core/timefmt.h"

/* The place of a row: the order of compare_claims, without its last resort. */
struct place {
    int32_t priority;
    int64_t created_s;
    uint64_t arrival;
    uint32_t instance;
};

struct queue_row {
    struct place place;
    uint32_t ipus, position;
    const char *state, *job, *reason, *message, *controller;
};

void queue_snapshot_release(struct queue_snapshot *snapshot)
{
    void *text;

    for (size_t i = 0; map_next(&snapshot->texts, &i, NULL, &text);)
        mem_free(text);
    map_release(&snapshot->texts);
    mem_free(snapshot->rows);
    *snapshot = (struct queue_snapshot){0};
}

static const char *keep(struct queue_snapshot *snapshot, const char *text)
{
    char *kept = text ? map_get(&snapshot->texts, text) : NULL;

    if (text && !kept) {
        kept = mem_strdup(text);
        map_set(&snapshot->texts, text, kept);
    }
    return kept;
}

static const char *state_of(const struct claim *claim, bool is_granted)
{
    if (is_granted)
        return "Granted";
    return claim->is_ready ? "Waiting" : "ValidatingTemplate";
}

void queue_snapshot_add(struct queue_snapshot *snapshot, const struct claim *claim, const char *controller,
                        const struct claim_wait *wait)
{
    if (snapshot->count == snapshot->cap) {
        snapshot->cap = 2 * snapshot->cap + 64;
        snapshot->rows = mem_grow(snapshot->rows, snapshot->cap, sizeof(*snapshot->rows));
    }
    snapshot->rows[snapshot->count++] = (struct queue_row){
        .place = {claim->priority, claim->created_s, claim->arrival, claim->instance},
        .ipus = claim->size,
        .position = wait->position,
        .state = state_of(claim, controller != NULL),
        .job = keep(snapshot, claim->job),
        .reason = keep(snapshot, wait->reason),
        .message = keep(snapshot, wait->text),
        .controller = keep(snapshot, controller ? controller : wait->controller),
    };
}

static bool is_behind(const struct place *a, const struct place *b)
{
    if (a->priority != b->priority)
        return a->priority < b->priority;
    if (a->created_s != b->created_s)
        return a->created_s > b->created_s;
    if (a->arrival != b->arrival)
        return a->arrival > b->arrival;
    return a->instance > b->instance;
}

static bool read_token(const char *token, struct place *ret)
{
    int end = 0;

    /* NOLINTNEXTLINE(cert-err34-c): a number that overflows is another place in the queue */
    return sscanf(token, "%11" SCNd32 "_%20" SCNd64 "_%20" SCNu64 "_%10" SCNu32 "%n", &ret->priority,
                  &ret->created_s, &ret->arrival, &ret->instance, &end) == 4 &&
           end > 0 && token[end] == '\0';
}

/* The first row behind the place. */
static size_t find_behind(const struct queue_snapshot *snapshot, const struct place *place)
{
    size_t low = 0, high = snapshot->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (is_behind(&snapshot->rows[middle].place, place))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static cJSON *print_row(const struct queue_row *row)
{
    cJSON *out = json_object();
    char created[TIMEFMT_RFC3339_SIZE];

    json_put_str(out, "job", row->job);
    json_put_i64(out, "instance", row->place.instance);
    json_put_i64(out, "ipus", row->ipus);
    json_put_i64(out, "priority", row->place.priority);
    json_put_str(out, "created", timefmt_rfc3339(row->place.created_s, created));
    json_put_str(out, "state", row->state);
    json_put_str(out, "reason", row->reason);
    json_put_str(out, "message", row->message);
    json_put_str(out, "controller", row->controller);
    if (row->position)
        json_put_i64(out, "position", row->position);
    return out;
}

cJSON *queue_snapshot_print(const struct queue_snapshot *snapshot, const struct page_request *page,
                            struct err *err)
{
    struct place place = {0};
    size_t at = 0, end;
    cJSON *out, *list;

    if (page->after && !read_token(page->after, &place)) {
        page_token_invalid(err);
        return NULL;
    }
    if (page->after)
        at = find_behind(snapshot, &place);
    end = snapshot->count - at > page->limit ? at + page->limit : snapshot->count;
    out = json_object();
    list = json_put_array(out, "queue");
    for (; at < end; at++)
        json_push_take(list, print_row(&snapshot->rows[at]));
    if (end > 0 && end < snapshot->count) {
        const struct place *last = &snapshot->rows[end - 1].place;

        page_put_token(out, "%" PRId32 "_%" PRId64 "_%" PRIu64 "_%" PRIu32, last->priority, last->created_s,
                       last->arrival, last->instance);
    }
    return out;
}
