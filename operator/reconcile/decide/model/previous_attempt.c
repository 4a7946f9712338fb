#include "operator/reconcile/decide/model/previous_attempt.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/utf8.h"
#include "base/core/visible.h"
#include "operator/reconcile/decide/model/failure.h"

/* Of what failed: the rest is for lines of the log. */
#define SENTENCE_MAX 1024

/* Of an instance, the newest failure comes first. */
static const cJSON *find_failure(const cJSON *status, uint32_t instance, uint32_t attempt)
{
    JSON_EACH (item, json_at(status, "failures")) {
        if (json_i64(item, "instance", -1) == instance)
            return json_i64(item, "attempt", -1) == attempt ? item : NULL;
    }
    return NULL;
}

static const char *lines_of(const cJSON *failure, const char *pod)
{
    if (str_eq(json_str(failure, "pod", ""), pod))
        return json_str(failure, "message", "");
    JSON_EACH (other, json_at(failure, "otherPods")) {
        if (str_eq(json_str(other, "pod", ""), pod))
            return json_str(other, "message", "");
    }
    return "";
}

static void add_failure(const cJSON *failure, struct str *text)
{
    const char *time = json_str(failure, "time", NULL), *reason = json_str(failure, "reason", "");
    AUTO(mem) char *sentence = failure_entry_sentence(failure);
    bool is_told = strstr(sentence, reason) != NULL;
    AUTO(mem)
    char *all =
        mem_printf("%s%s%s: %s%s%s%s", "The attempt before it failed", time ? " at " : "", time ? time : "",
                   sentence, is_told ? "" : " (", is_told ? "" : reason, is_told ? "" : ")");
    AUTO(mem) char *shown = visible_new(all, VISIBLE_LINE);
    size_t len = strlen(shown);

    str_add(text, shown, len > SENTENCE_MAX ? utf8_cut(shown, SENTENCE_MAX) : len);
}

char *previous_attempt_report(const cJSON *status, uint32_t instance, uint32_t restarts, const char *pod)
{
    const cJSON *failure = restarts ? find_failure(status, instance, restarts - 1) : NULL;
    AUTO(str) struct str text = {.max = PREVIOUS_ATTEMPT_MAX + 1};

    if (!failure)
        return NULL;
    AUTO(mem) char *lines = visible_new(lines_of(failure, pod), VISIBLE_LINES);

    str_addf(&text, "This is restart %u of instance %u.\n", restarts, instance);
    add_failure(failure, &text);
    str_addf(&text, *lines ? "\nThe last lines of %s then:\n" : "\nThe job's status has no lines of %s.",
             pod);
    str_adds(&text, failure_last_lines(lines, PREVIOUS_ATTEMPT_MAX - text.len));
    return str_take(&text);
}
