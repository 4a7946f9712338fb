#include "operator/serve/live/feed_watches.h"

#include "base/core/mem.h"
#include "base/io/loop.h"
#include "operator/kube/client/client.h"
#include "operator/kube/watch/watch.h"

enum { LOOK_MS = 500 /* between two looks at the state of the watches */ };

struct feed_watch {
    struct feed_watches *all;
    const struct feed_row *row;
    struct watch *watch;
    struct frame *forbidden; /* what was told of this kind, or NULL */
    char *full;              /* why it has ended, or NULL */
};

struct feed_watches {
    struct loop *loop;
    struct feed_watches_options options;
    struct feed_watch *each;
    bool is_synced;
    char *trouble; /* why the page may be outdated; NULL: it is not */
    struct loop_timer look;
};

static bool make_frame(void *ctx, const cJSON *item, void **ret_view)
{
    const struct feed_watch *watch = ctx;

    if (!feed_shows(watch->row->kind, item))
        return false;
    *ret_view = frame_of_text(feed_put(watch->row->kind, item));
    return true;
}

static void free_frame(void *view)
{
    frame_drop(view);
}

static void on_change(void *ctx, const struct store_change *change)
{
    const struct feed_watch *watch = ctx;

    watch->all->options.on_change(watch->all->options.ctx, watch->row->kind, change);
}

static void on_full(void *ctx, const struct err *err)
{
    struct feed_watch *watch = ctx;

    mem_set_str(&watch->full, err->msg);
    watch->all->options.on_full(watch->all->options.ctx, err);
}

static void note_synced(struct feed_watches *watches)
{
    for (size_t i = 0; i < watches->options.count; i++) {
        const struct feed_watch *watch = &watches->each[i];

        if (!watch_is_synced(watch->watch) && !watch->forbidden && !watch->full)
            return;
    }
    if (watches->is_synced)
        return;
    watches->is_synced = true;
    watches->options.on_synced(watches->options.ctx);
}

static void on_synced(void *ctx)
{
    const struct feed_watch *watch = ctx;

    note_synced(watch->all);
}

static void tell_forbidden(struct feed_watch *watch, const struct err *err)
{
    struct feed_watches *watches = watch->all;
    bool is_forbidden = err && (err->code == 403 || err->code == 404);

    if (is_forbidden == (watch->forbidden != NULL))
        return;
    frame_drop(TAKE(watch->forbidden));
    if (!is_forbidden)
        return;
    watch->forbidden = frame_of_text(feed_forbidden(feed_kind_names[watch->row->kind], err->msg));
    watches->options.on_state(watches->options.ctx, watch->forbidden);
}

static struct frame *state_frame(const struct feed_watches *watches)
{
    return frame_of_text(feed_state(!watches->trouble, watches->trouble ? watches->trouble : ""));
}

static void look(struct loop_timer *timer)
{
    struct feed_watches *watches = CONTAINER_OF(timer, struct feed_watches, look);
    const char *trouble = NULL;

    for (size_t i = 0; i < watches->options.count; i++) {
        int64_t since_ms;
        const struct err *err = watch_trouble(watches->each[i].watch, &since_ms);

        if (err && err->code == 401 && watches->options.on_rejected)
            watches->options.on_rejected(watches->options.ctx);
        tell_forbidden(&watches->each[i], err);
        if (watches->each[i].full)
            trouble = watches->each[i].full;
        else if (err && !watches->each[i].forbidden)
            trouble = err->msg;
    }
    note_synced(watches);
    if (!trouble != !watches->trouble) {
        struct frame *frame;

        mem_set_str(&watches->trouble, trouble);
        frame = state_frame(watches);
        watches->options.on_state(watches->options.ctx, frame);
        frame_drop(frame);
    }
    loop_timer_start(watches->loop, &watches->look, LOOK_MS, look);
}

struct feed_watches *feed_watches_new(struct kube *kube, const struct feed_watches_options *options)
{
    struct feed_watches *watches = NEW(struct feed_watches);

    watches->loop = kube_loop(kube);
    watches->options = *options;
    watches->each = mem_alloc(options->count * sizeof(struct feed_watch));
    for (size_t i = 0; i < options->count; i++) {
        const struct feed_row *row = &options->rows[i];
        struct feed_watch *watch = &watches->each[i];

        *watch = (struct feed_watch){.all = watches, .row = row};
        watch->watch =
            watch_new(kube, &(struct watch_options){.resource = row->resource,
                                                    .ns = row->is_cluster_wide ? NULL : options->ns,
                                                    .label_selector = row->label_selector,
                                                    .field_selector = row->field_selector,
                                                    .view = make_frame,
                                                    .view_free = free_frame,
                                                    .on_change = on_change,
                                                    .on_synced = on_synced,
                                                    .on_full = on_full,
                                                    .max_items = options->max_items,
                                                    .max_bytes = options->max_bytes,
                                                    .ctx = watch});
    }
    loop_timer_start(watches->loop, &watches->look, LOOK_MS, look);
    return watches;
}

void feed_watches_free(struct feed_watches *watches)
{
    if (!watches)
        return;
    loop_timer_stop(&watches->look);
    for (size_t i = 0; i < watches->options.count; i++) {
        watch_free(watches->each[i].watch);
        frame_drop(watches->each[i].forbidden);
        mem_free(watches->each[i].full);
    }
    mem_free(watches->each);
    mem_free(watches->trouble);
    mem_free(watches);
}

bool feed_watches_are_synced(const struct feed_watches *watches)
{
    return watches->is_synced;
}

void feed_watches_tell_state(const struct feed_watches *watches, void (*tell)(void *ctx, struct frame *frame),
                             void *ctx)
{
    if (watches->trouble) {
        struct frame *frame = state_frame(watches);

        tell(ctx, frame);
        frame_drop(frame);
    }
    for (size_t i = 0; i < watches->options.count; i++) {
        if (watches->each[i].forbidden)
            tell(ctx, watches->each[i].forbidden);
    }
}

const struct store *feed_watches_store(const struct feed_watches *watches, size_t row)
{
    return watch_store(watches->each[row].watch);
}
