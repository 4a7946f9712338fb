#include "operator/progress/report.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/utf8.h"
#include "base/core/visible.h"

/* A whole number from 0 to max, or -1: it is absent. */
static bool read_number(const cJSON *status, const char *field, int64_t max, int64_t *ret, struct err *err)
{
    const cJSON *item = json_at(status, field);
    int64_t number = json_i64(status, field, -1);

    if (item && !cJSON_IsNull(item) && (number < 0 || number > max)) {
        AUTO(mem) char *text = json_print(item);

        return err_set(err, ERR_INVALID, "trainerStatus.%s must be a whole number from 0 to %lld, got %s",
                       field, (long long)max, text);
    }
    *ret = number;
    return true;
}

static void put_text(cJSON *metric, const char *key, const char *text)
{
    AUTO(mem) char *shown = visible_new(text, VISIBLE_LINE);

    if (strlen(shown) > PROGRESS_TEXT_MAX)
        shown[utf8_cut(shown, PROGRESS_TEXT_MAX)] = '\0';
    json_put_str(metric, key, shown);
}

/* Dropped rather than rejected: a client whose report is rejected sends it again at every step. */
static void read_metrics(const cJSON *list, struct progress_report *ret)
{
    AUTO(json) cJSON *kept = json_array();
    uint32_t count = 0;

    JSON_EACH (item, cJSON_IsArray(list) ? list : NULL) {
        const char *name = json_str(item, "name", ""), *value = json_str(item, "value", "");

        if (!*name || !*value || count == PROGRESS_METRICS_MAX) {
            ret->dropped_metrics++;
            continue;
        }
        cJSON *metric = json_push_take(kept, json_object());
        put_text(metric, "name", name);
        put_text(metric, "value", value);
        count++;
    }
    ret->metrics = count ? json_print(kept) : NULL;
}

bool progress_report_parse(struct slice body, struct progress_report *ret, struct err *err)
{
    struct progress_report report = {0};
    AUTO(json) cJSON *root = json_parse(body, err);
    const cJSON *status = json_at(root, "trainerStatus");

    if (!root)
        return false;
    if (!cJSON_IsObject(root) || (status && !cJSON_IsNull(status) && !cJSON_IsObject(status)))
        return err_set(err, ERR_INVALID, "trainerStatus must be an object");
    if (!read_number(status, "progressPercentage", 100, &report.percent, err) ||
        !read_number(status, "estimatedRemainingSeconds", PROGRESS_REMAINING_MAX_S, &report.remaining_s, err))
        return false;
    read_metrics(json_at(status, "metrics"), &report);
    *ret = report;
    return true;
}

bool progress_report_is_empty(const struct progress_report *report)
{
    return report->percent < 0 && report->remaining_s < 0 && !report->metrics && !report->dropped_metrics;
}

void progress_report_release(struct progress_report *report)
{
    mem_free(report->metrics);
    *report = (struct progress_report){0};
}
