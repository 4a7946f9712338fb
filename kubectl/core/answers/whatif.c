#include "kubectl/core/answers/whatif.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "base/core/visible.h"
#include "base/text/timefmt.h"
#include "kubectl/core/answers/eta.h"
#include "kubectl/core/jobs.h"

enum { SIZES_MAX = 32 }; /* of one controller; the operator tells of 17 at most */

/* The soonest first. */
static const char *const STATES[] = {"Now", "Later", "Open", "Never"};

struct start {
    const cJSON *controller, *told;
    const char *state;
    int64_t ipus, expected_s, within_s;
};

struct starts {
    struct start *items;
    size_t count;
};

static size_t state_rank(const char *state)
{
    size_t rank = 0;

    while (rank < COUNT_OF(STATES) && !str_eq(STATES[rank], state))
        rank++;
    return rank;
}

static int by_size_and_start(const void *a, const void *b)
{
    const struct start *x = a, *y = b;
    size_t x_rank = state_rank(x->state), y_rank = state_rank(y->state);

    if (x->ipus != y->ipus)
        return x->ipus < y->ipus ? -1 : 1;
    if (x_rank != y_rank)
        return x_rank < y_rank ? -1 : 1;
    if (x->expected_s != y->expected_s)
        return x->expected_s < y->expected_s ? -1 : 1;
    return (x->within_s < y->within_s) - (x->within_s > y->within_s);
}

static struct start read_start(const cJSON *controller, const cJSON *told, int64_t for_s)
{
    struct start start = {.controller = controller,
                          .told = told,
                          .state = json_str(told, "state", ""),
                          .ipus = json_i64(told, "ipus", 0),
                          .within_s = json_i64(told, "startsNowWithin", 0)};

    (void)timefmt_parse_rfc3339(json_str(told, "expected", NULL), &start.expected_s);
    if (for_s > 0 && for_s <= start.within_s)
        start.state = STATES[0];
    return start;
}

static void collect(struct starts *starts, const cJSON *controllers, uint32_t ipus, int64_t for_s)
{
    JSON_EACH (controller, controllers) {
        size_t count = 0;

        JSON_EACH (told, json_at(controller, "status/starts")) {
            if (count++ == SIZES_MAX)
                break;
            if (ipus && json_i64(told, "ipus", 0) != ipus)
                continue;
            starts->items = mem_grow(starts->items, starts->count + 1, sizeof(*starts->items));
            starts->items[starts->count++] = read_start(controller, told, for_s);
        }
    }
    if (starts->count)
        qsort(starts->items, starts->count, sizeof(*starts->items), by_size_and_start);
}

static cJSON *print_start(const struct start *start)
{
    bool is_now = str_eq(start->state, STATES[0]);
    cJSON *item = json_object();

    json_put_i64(item, "ipus", start->ipus);
    json_put_str(item, "controller", json_str(start->controller, "metadata/name", NULL));
    json_put_str(item, "state", start->state);
    json_put_str(item, "earliest", is_now ? NULL : json_str(start->told, "earliest", NULL));
    json_put_str(item, "expected", is_now ? NULL : json_str(start->told, "expected", NULL));
    json_put_str(item, "latest", is_now ? NULL : json_str(start->told, "latest", NULL));
    if (start->within_s > 0)
        json_put_i64(item, "startsNowWithin", start->within_s);
    return item;
}

cJSON *whatif_report(const struct whatif_query *query)
{
    int64_t for_s = query->for_s ? query->for_s : json_i64(query->job, "spec/activeDeadlineSeconds", 0);
    cJSON *report = json_object(), *items;
    struct starts starts = {0};

    json_put_str(report, "apiVersion", REPORT_API_VERSION);
    json_put_str(report, "kind", "WhatIfReport");
    if (query->job)
        json_put_take(report, "job", eta_report(query->job));
    if (for_s > 0)
        json_put_i64(report, "deadlineSeconds", for_s);
    items = json_put_array(report, "items");
    collect(&starts, query->controllers, query->ipus, for_s);
    for (size_t i = 0; i < starts.count; i++)
        json_push_take(items, print_start(&starts.items[i]));
    mem_free(starts.items);
    return report;
}

void whatif_add_sizes(struct str *out, const cJSON *controllers)
{
    struct starts starts = {0};

    collect(&starts, controllers, 0, 0);
    for (size_t i = 0; i < starts.count; i++) {
        if (i == 0 || starts.items[i].ipus != starts.items[i - 1].ipus)
            str_addf(out, "%s%lld", i ? ", " : "", (long long)starts.items[i].ipus);
    }
    mem_free(starts.items);
}

/* ---- in words ---- */

/* A cell of the table, not of the report. */
static const char STARTS[] = "starts";

static bool is_same_size(const cJSON *a, const cJSON *b)
{
    return a && b && json_i64(a, "ipus", 0) == json_i64(b, "ipus", 0);
}

static void push_row(cJSON *rows, const cJSON *item, int64_t now_s)
{
    const char *state = json_str(item, "state", "");
    cJSON *row = json_push_take(rows, json_dup(item));
    AUTO(str) struct str text = {0};

    if (str_eq(state, "Now"))
        str_adds(&text, "now");
    else if (str_eq(state, "Never"))
        str_adds(&text, "never: it cannot make such a partition");
    else
        (void)start_add_times(&text, item, now_s);
    json_put_str(row, STARTS, str_text(&text));
}

static void add_span(struct str *out, int64_t span_s)
{
    bool is_hours = span_s % 3600 == 0;

    str_add_count(out, (uint64_t)(span_s / (is_hours ? 3600 : 60)), is_hours ? "hour" : "minute", NULL);
}

/* "1 to 32 IPUs" for sizes that have the same deadline at the same controller. */
static void add_deadline(struct str *out, const struct look *look, const cJSON *first, const cJSON *last)
{
    int64_t within_s = json_i64(first, "startsNowWithin", 0);
    AUTO(str) struct str text = {0};

    str_adds(&text, "With a deadline of ");
    add_span(&text, within_s);
    str_addf(&text, " or less (activeDeadlineSeconds: %lld), a job of ", (long long)within_s);
    if (first != last)
        str_addf(&text, "%lld to ", (long long)json_i64(first, "ipus", 0));
    str_add_count(&text, (uint64_t)json_i64(last, "ipus", 0), "IPU", NULL);
    str_adds(&text, " would start now at ");
    (void)str_add_visible(&text, slice_of(json_str(first, "controller", "")), VISIBLE_LINE);
    str_addc(&text, '.');
    paragraph_add(out, look, 0, str_text(&text));
}

/* Of the items of one size: where the longest deadline is enough; NULL: it starts now anyway, or none is. */
static const cJSON *find_deadline(const cJSON *item)
{
    const cJSON *best = NULL;

    if (str_eq(json_str(item, "state", ""), "Now"))
        return NULL;
    for (const cJSON *at = item; is_same_size(item, at); at = at->next) {
        if (json_i64(at, "startsNowWithin", 0) > json_i64(best, "startsNowWithin", 0))
            best = at;
    }
    return best;
}

static void add_deadlines(struct str *out, const struct look *look, const cJSON *items)
{
    const cJSON *first = NULL, *last = NULL, *before = NULL;

    JSON_EACH (item, items) {
        const cJSON *found = is_same_size(before, item) ? NULL : find_deadline(item);

        before = item;
        if (!found)
            continue;
        if (first && (json_i64(first, "startsNowWithin", 0) != json_i64(found, "startsNowWithin", 0) ||
                      !str_eq(json_str(first, "controller", ""), json_str(found, "controller", "")))) {
            add_deadline(out, look, first, last);
            first = NULL;
        }
        first = first ? first : found;
        last = found;
    }
    if (first)
        add_deadline(out, look, first, last);
}

void whatif_print(const cJSON *report, const struct look *look, bool wide, int64_t now_s, struct str *out)
{
    static const struct column columns[] = {{.title = "IPUS", .path = "ipus"},
                                            {.title = "STARTS", .path = STARTS},
                                            {.title = "CONTROLLER", .path = "controller"},
                                            {0}};
    const cJSON *items = json_at(report, "items"), *job = json_at(report, "job"), *before = NULL;
    AUTO(json) cJSON *rows = json_array();

    if (job) {
        eta_print(job, look, wide, now_s, out);
        str_addc(out, '\n');
    }
    JSON_EACH (item, items) {
        if (wide || !is_same_size(before, item))
            push_row(rows, item, now_s);
        before = item;
    }
    table_add(out, columns, rows, look, &(struct table_options){.now_s = now_s});
    add_deadlines(out, look, items);
}
