#include "operator/api/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

#define LIMIT "limit="
#define CONTINUE "continue="
#define DIGITS "0123456789abcdef"

enum { ROWS_PER_MS = 10, RANK_DIGITS = 16 };

const char *page_list_path(enum page_list list)
{
    static const char *const paths[PAGE_LISTS] = {
        [PAGE_QUEUE] = "/queue", [PAGE_CONTROLLERS] = "/controllers", [PAGE_PARTITIONS] = "/partitions"};

    return paths[list];
}

/* ---- the token: ranks and name in hexadecimal, because a name may be any text ---- */

static char *print_token(const struct page_place *place)
{
    AUTO(str) struct str out = {0};

    for (size_t i = 0; i < PAGE_RANKS; i++)
        (void)str_addf(&out, "%" PRIx64 ".", place->ranks[i]);
    (void)str_add_hex(&out, place->name, strlen(place->name));
    return str_take(&out);
}

static unsigned digit_value(char digit)
{
    return (unsigned)(strchr(DIGITS, digit) - DIGITS);
}

static bool read_rank(const char **at, uint64_t *ret)
{
    size_t digits = strspn(*at, DIGITS);

    if (digits < 1 || digits > RANK_DIGITS || (*at)[digits] != '.')
        return false;
    *ret = 0;
    for (size_t i = 0; i < digits; i++)
        *ret = *ret << 4 | digit_value((*at)[i]);
    *at += digits + 1;
    return true;
}

/* Owned by the caller; NULL: it is no name. */
static char *read_name(const char *at)
{
    size_t digits = strspn(at, DIGITS);
    AUTO(mem) char *name = mem_alloc(digits / 2 + 1);

    if (at[digits] || digits % 2)
        return NULL;
    for (size_t i = 0; i < digits / 2; i++)
        if (!(name[i] = (char)(digit_value(at[2 * i]) << 4 | digit_value(at[2 * i + 1]))))
            return NULL;
    return TAKE(name);
}

static bool read_token(const char *token, struct page_request *ret)
{
    for (size_t i = 0; i < PAGE_RANKS; i++)
        if (!read_rank(&token, &ret->after.ranks[i]))
            return false;
    ret->after.name = ret->name = read_name(token);
    ret->continues = true;
    return ret->name != NULL;
}

/* ---- the request ---- */

void page_request_release(struct page_request *request)
{
    mem_free(request->name);
    *request = (struct page_request){0};
}

static bool read_limit(const char *text, uint32_t *ret, struct err *err)
{
    return parse_u32(text, 1, UINT32_MAX, ret) ||
           err_set(err, ERR_INVALID, "limit must be a number from 1 to 4294967295, got '%.20s'", text);
}

bool page_request_read(const char *query, struct page_request *ret, struct err *err)
{
    AUTO(page_request) struct page_request request = {.limit = PAGE_ITEMS_MAX};
    AUTO(strv) struct strv words = {0};
    const char *token = "";

    strv_split(query, '&', &words);
    for (size_t i = 0; i < words.count; i++) {
        const char *word = words.items[i];

        if (str_has_prefix(word, LIMIT) && !read_limit(word + strlen(LIMIT), &request.limit, err))
            return false;
        if (str_has_prefix(word, CONTINUE))
            token = word + strlen(CONTINUE);
    }
    if (*token && !read_token(token, &request))
        return err_set(err, ERR_INVALID, "continue is not a token of a page; start again without it");
    if (request.limit > PAGE_ITEMS_MAX)
        request.limit = PAGE_ITEMS_MAX;
    *ret = request;
    request.name = NULL;
    return true;
}

/* ---- the snapshot ---- */

void page_snapshot_release(struct page_snapshot *snapshot)
{
    mem_free(snapshot->rows);
    strv_release(&snapshot->names);
    *snapshot = (struct page_snapshot){0};
}

const char *page_snapshot_keep(struct page_snapshot *snapshot, const char *name)
{
    strv_push(&snapshot->names, name);
    return snapshot->names.items[snapshot->names.count - 1];
}

void page_snapshot_add(struct page_snapshot *snapshot, const struct page_place *place)
{
    if (snapshot->count == snapshot->cap) {
        snapshot->cap = 2 * snapshot->cap + 16;
        snapshot->rows = mem_grow(snapshot->rows, snapshot->cap, sizeof(*snapshot->rows));
    }
    snapshot->rows[snapshot->count++] = *place;
}

static int compare_places(const void *a, const void *b)
{
    const struct page_place *x = a, *y = b;

    for (size_t i = 0; i < PAGE_RANKS; i++)
        if (x->ranks[i] != y->ranks[i])
            return x->ranks[i] < y->ranks[i] ? -1 : 1;
    return strcmp(x->name, y->name);
}

void page_snapshot_refresh(struct page_snapshot *snapshot, int64_t now_ms, page_list_fn list, const void *ctx)
{
    if (now_ms < snapshot->until_ms)
        return;
    page_snapshot_release(snapshot);
    list(ctx, snapshot);
    if (snapshot->count)
        qsort(snapshot->rows, snapshot->count, sizeof(*snapshot->rows), compare_places);
    snapshot->until_ms = now_ms + (int64_t)snapshot->count / ROWS_PER_MS;
}

/* The first row behind the place. */
static size_t find_behind(const struct page_snapshot *snapshot, const struct page_place *place)
{
    size_t low = 0, high = snapshot->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_places(&snapshot->rows[middle], place) > 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool find_next(const struct page_snapshot *snapshot, const struct page_place *after, void *ctx,
                      struct page_place *ret)
{
    size_t at;

    if (snapshot->next && snapshot->next(ctx, after, ret))
        return true;
    at = after ? find_behind(snapshot, after) : 0;
    if (at == snapshot->count)
        return false;
    *ret = snapshot->rows[at];
    return true;
}

void page_snapshot_print(const struct page_snapshot *snapshot, enum page_list list,
                         const struct page_request *request, page_print_fn print, void *ctx, cJSON *out)
{
    const struct page_place *after = request->continues ? &request->after : NULL;
    cJSON *items = json_put_array(out, page_list_path(list) + 1);
    struct page_place place, last;
    uint32_t count = 0;
    bool has_more;

    for (; (has_more = find_next(snapshot, after, ctx, &place)) && count < request->limit; count++) {
        cJSON *item = print(ctx, &place);

        if (item)
            json_push_take(items, item);
        last = place;
        after = &last;
    }
    if (has_more) {
        AUTO(mem) char *token = print_token(after);

        json_put_str(out, "continue", token);
    }
}
