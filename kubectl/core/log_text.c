#include "kubectl/core/log_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/terminal.h"
#include "base/core/visible.h"

void log_merge_add(struct log_merge *merge, const struct log_source *source, const struct log_line *line)
{
    struct log_entry *entry;

    if (merge->max_bytes && merge->bytes >= merge->max_bytes) {
        merge->left_out += !line->is_continued;
        return;
    }
    if (merge->count == merge->capacity) {
        merge->capacity = merge->capacity ? merge->capacity * 2 : 64;
        merge->entries = mem_grow(merge->entries, merge->capacity, sizeof(*merge->entries));
    }
    entry = &merge->entries[merge->count++];
    *entry = (struct log_entry){.source = source,
                                .text = line->text.len ? mem_dup(line->text.ptr, line->text.len) : NULL,
                                .len = line->text.len,
                                .time_ns = line->time_ns,
                                .number = merge->number++,
                                .is_continued = line->is_continued};
    if (line->time.len)
        memcpy(entry->time, line->time.ptr, line->time.len);
    merge->bytes += line->text.len + sizeof(*entry);
}

static int by_time(const void *left, const void *right)
{
    const struct log_entry *a = left, *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

enum paint paint_of_rank(const char *rank)
{
    static const enum paint paints[] = {PAINT_GOOD, PAINT_WARNING, PAINT_FAINT, PAINT_NONE};

    return paints[str_hash(rank) % COUNT_OF(paints)];
}

static void add_json(const struct log_entry *entry, struct str *out)
{
    AUTO(json) cJSON *object = json_object();
    AUTO(str) struct str line = {.max = 8 * LOG_PIECE_MAX};
    AUTO(mem) char *printed = NULL;

    json_put_str(object, "rank", entry->source->rank);
    json_put_str(object, "pod", entry->source->pod);
    json_put_str(object, "time", entry->time[0] ? entry->time : NULL);
    str_add_visible(&line, (struct slice){entry->text ? entry->text : "", entry->len}, VISIBLE_LINES);
    json_put_str(object, "line", str_text(&line));
    if (entry->is_continued)
        json_put_bool(object, "continued", true);
    printed = json_print(object);
    str_adds(out, printed);
}

static void add_text(const struct log_entry *entry, const struct log_format *format, struct str *out)
{
    AUTO(mem) char *rank = mem_printf("[%s]%s", entry->source->rank, entry->is_continued ? "+" : "");
    struct slice text = {entry->text ? entry->text : "", entry->len};

    paint_add(out, &format->look, entry->source->paint, rank);
    str_addf(out, "%*s",
             (int)(format->rank_width + 3 > strlen(rank) ? format->rank_width + 3 - strlen(rank) : 1), "");
    if (format->timestamps && entry->time[0])
        str_addf(out, "%s ", entry->time);
    if (format->is_terminal)
        terminal_add(out, text);
    else
        str_add(out, text.ptr, text.len);
}

void log_merge_drain(struct log_merge *merge, void (*fn)(void *ctx, const struct log_entry *entry), void *ctx)
{
    if (merge->count > 0)
        qsort(merge->entries, merge->count, sizeof(*merge->entries), by_time);
    for (size_t i = 0; i < merge->count; i++) {
        fn(ctx, &merge->entries[i]);
        mem_free(merge->entries[i].text);
    }
    merge->count = merge->bytes = 0;
}

struct printing {
    const struct log_format *format;
    struct str *out;
};

static void add_entry(void *ctx, const struct log_entry *entry)
{
    const struct printing *printing = ctx;

    if (printing->format->json)
        add_json(entry, printing->out);
    else
        add_text(entry, printing->format, printing->out);
    str_addc(printing->out, '\n');
}

void log_merge_flush(struct log_merge *merge, const struct log_format *format, struct str *out)
{
    log_merge_drain(merge, add_entry, &(struct printing){format, out});
}

void log_merge_release(struct log_merge *merge)
{
    for (size_t i = 0; i < merge->count; i++)
        mem_free(merge->entries[i].text);
    mem_free(merge->entries);
    *merge = (struct log_merge){0};
}
