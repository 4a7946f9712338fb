/* A history of run times that anybody may have edited: what is read is what is written and read again, and
 * estimates stay in order. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "operator/history/history.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_estimates(struct history *history)
{
    const struct run_past *last = &history->runs.runs[(history->runs.count - 1) % RUN_HISTORY_MAX];

    for (uint32_t elapsed_s = 0; elapsed_s < 1u << 30; elapsed_s = 4 * elapsed_s + 1) {
        struct forecast_quantiles q = history_left(history, &last->kind, elapsed_s, NULL, elapsed_s);

        assert(q.p10 >= 1 && q.p10 <= q.p50 && q.p50 <= q.p90);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct history *history = history_new(), *again = history_new();
    struct err err;
    AUTO(json) cJSON *data = json_parse((struct slice){(const char *)bytes, len}, &err), *printed = NULL;
    AUTO(mem) char *problem = history_read(history, data), *none = NULL;

    assert(!problem || *problem);
    printed = history_print(history);
    none = history_read(again, printed);
    assert(!none && history_run_count(again) == history_run_count(history));
    assert(again->late_permille == history->late_permille &&
           again->early_permille == history->early_permille);
    if (history->runs.count)
        check_estimates(again);
    history_free(history);
    history_free(again);
    return 0;
}
