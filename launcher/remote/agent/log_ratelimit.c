#include "launcher/remote/agent/log_ratelimit.h"

bool log_ratelimit_allow(struct log_ratelimit *log_ratelimit, enum rejection rejection, int64_t now_ms,
                         uint64_t *ret_more)
{
    __typeof__(&log_ratelimit->of[0]) one = &log_ratelimit->of[rejection];

    if (one->was_logged && now_ms - one->last_logged_ms < LOG_RATELIMIT_INTERVAL_MS) {
        one->suppressed++;
        return false;
    }
    *ret_more = one->suppressed;
    one->was_logged = true;
    one->last_logged_ms = now_ms;
    one->suppressed = 0;
    return true;
}
