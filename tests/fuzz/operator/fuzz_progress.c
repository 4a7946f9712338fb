/* What a pod sends: a report of progress (first byte 'R'), or a token of which the last line is the text and
 * the rest the API server's keys. What is accepted is bounded. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/progress/job_progress.h"
#include "operator/progress/token.h"

static void report(struct slice body)
{
    AUTO(progress_report) struct progress_report parsed = {0};
    struct job_progress progress = {0};
    struct err err = {0};

    if (!progress_report_parse(body, &parsed, &err)) {
        assert(err.kind == ERR_INVALID && err.msg[0]);
        return;
    }
    assert(parsed.percent >= -1 && parsed.percent <= 100);
    assert(parsed.remaining_s >= -1 && parsed.remaining_s <= PROGRESS_REMAINING_MAX_S);
    job_progress_add(&progress, 0, 0, &parsed, (struct progress_time){1000, 1800000000});
    AUTO(json) cJSON *printed = job_progress_print(&progress, 1001);
    assert(printed);
    job_progress_release(&progress);
}

static void token(struct slice input)
{
    AUTO(mem) char *text = mem_strndup(input.ptr, input.len);
    char *last = strrchr(text, '\n');
    struct err err = {0};
    AUTO(token_pod) struct token_pod pod = {0};

    if (!last)
        return;
    *last = '\0';
    AUTO(json) cJSON *jwks = json_parse(slice_of(text), &err);
    struct token_keys *keys = jwks ? token_keys_new(jwks, &err) : NULL;
    if (keys && token_verify(keys, last + 1, "graphcore.ai/progress", 1800000000, &pod, &err))
        assert(pod.ns && pod.name && pod.uid);
    else
        assert(err.kind != ERR_NONE);
    token_keys_free(keys);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct slice input = {(const char *)bytes, len};

    if (len == 0)
        return 0;
    if (bytes[0] == 'R')
        report((struct slice){input.ptr + 1, len - 1});
    else
        token(input);
    return 0;
}
