#include "kubectl/core/operator_sign.h"

#include "base/text/timefmt.h"
#include "kubectl/core/map.h"

/* It moves the lastAnswerTime of each controller on once a minute. */
enum { SILENT_S = 180 };

void operator_sign_put(cJSON *report, const cJSON *controllers, int64_t now_s)
{
    int64_t last_s = 0, at_s;

    JSON_EACH (controller, controllers) {
        if (controller_is_reachable(controller) &&
            timefmt_parse_rfc3339(json_str(controller, "status/lastAnswerTime", NULL), &at_s))
            last_s = at_s > last_s ? at_s : last_s;
    }
    if (last_s > 0 && last_s + SILENT_S < now_s)
        json_put_time(report, "operatorLastSign", last_s);
}

void operator_sign_add(struct str *out, const cJSON *report, int64_t now_s)
{
    char age[TIMEFMT_RFC3339_SIZE];
    int64_t at_s;

    if (timefmt_parse_rfc3339(json_str(report, "operatorLastSign", NULL), &at_s))
        str_addf(out, "No operator is running: its last sign is %s old; ask an admin",
                 timefmt_age(now_s - at_s, age));
}
