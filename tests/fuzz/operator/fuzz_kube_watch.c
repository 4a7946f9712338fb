/* A watch stream cut at any byte, fed through the lines, the step and a store, with ends and failures
 * between. A line that starts with '!' is a failure of the request: its second byte picks which. Whatever
 * arrives: the state never claims a list that did not end, there is never nothing more to do, and a position
 * is never empty. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/lines.h"
#include "operator/kube/watch/store.h"
#include "operator/kube/watch/watch_step.h"

enum { LINE_MAX = 65536 };

static bool view(void *ctx, const cJSON *item, void **ret)
{
    (void)ctx;
    *ret = mem_strdup(json_str(item, "metadata/uid", ""));
    return true;
}

static const char *owner(const void *text)
{
    return text;
}

static void apply(struct store *store, const struct watch_output *out)
{
    if (out->effect == WATCH_EFFECT_LIST_BEGIN)
        store_list_begin(store);
    else if (out->effect == WATCH_EFFECT_PUT)
        (void)store_put(store, out->item, 0);
    else if (out->effect == WATCH_EFFECT_DELETE)
        (void)store_delete(store, out->item);
    else if (out->effect == WATCH_EFFECT_LIST_END)
        store_list_end(store);
}

static void step(struct watch_state *state, struct store *store, struct watch_input input)
{
    struct watch_output out;

    input.retry_after_ms = -1;
    watch_step(state, &input, &out);
    apply(store, &out);
    assert(input.what != WATCH_INPUT_CLOSED || out.wait_ms >= 0);
    assert(!out.finish || out.wait_ms >= 0);
    assert(state->phase != WATCH_FOLLOW || (state->position != NULL && state->is_listed));
    assert(state->position == NULL || state->position[0] != '\0');
    if (out.wait_ms >= 0) {
        watch_step(state, &(struct watch_input){.what = WATCH_INPUT_SEND, .retry_after_ms = -1}, &out);
        apply(store, &out);
    }
}

static void on_line(struct watch_state *state, struct store *store, struct slice line)
{
    struct err err = {0};

    if (line.ptr[0] == '!') {
        err.kind = (enum err_kind)((line.len > 1 ? (unsigned char)line.ptr[1] : 0) % (ERR_INTERNAL + 1));
        err.code = line.len > 2 ? 400 + (unsigned char)line.ptr[2] : 0;
        step(state, store, (struct watch_input){.what = WATCH_INPUT_CLOSED, .err = &err});
        return;
    }
    AUTO(json) cJSON *object = json_parse(line, &err);
    if (object != NULL)
        step(state, store,
             (struct watch_input){.what = state->phase == WATCH_PAGES ? WATCH_INPUT_PAGE : WATCH_INPUT_EVENT,
                                  .object = object});
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    size_t piece = len > 0 ? bytes[0] % 32 + 1u : 1;
    struct watch_state state;
    struct store *store =
        store_new(&(struct store_options){.view = view, .view_free = mem_free, .index_key = owner});
    struct lines lines;
    struct slice line;
    struct err err = {0};

    watch_state_init(&state, "Pod");
    lines_init(&lines, LINE_MAX);
    step(&state, store, (struct watch_input){.what = WATCH_INPUT_SEND});
    for (size_t at = 1; at < len; at += piece) {
        if (!lines_push(&lines, bytes + at, piece < len - at ? piece : len - at, &err))
            break;
        while (lines_next(&lines, &line))
            on_line(&state, store, line);
    }
    lines_release(&lines);
    watch_state_release(&state);
    store_free(store);
    return 0;
}
