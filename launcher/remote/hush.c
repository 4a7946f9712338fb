#include "launcher/remote/hush.h"

bool hush_may_tell(struct hush *hush, enum refusal refusal, int64_t now_ms, uint64_t *ret_more)
{
    __typeof__(&hush->of[0]) one = &hush->of[refusal];

    if (one->was_told && now_ms - one->told_ms < HUSH_MS) {
        one->passed_over++;
        return false;
    }
    *ret_more = one->passed_over;
    one->was_told = true;
    one->told_ms = now_ms;
    one->passed_over = 0;
    return true;
}
