#include "kubectl/shell/silence.h"

#include "base/core/mem.h"
#include "kubectl/core/operator_sign.h"
#include "kubectl/shell/objects.h"

enum { SETTLE_MS = 200, LOOK_MS = 10000 };

static void add_sign(const struct silence *silence, struct str *out)
{
    AUTO(json) cJSON *report = json_object();

    silence_put(silence, report);
    operator_sign_add(out, report, session_now(silence->session));
}

static void complain_of_change(const struct silence *silence)
{
    AUTO(str) struct str sign = {0};

    add_sign(silence, &sign);
    complain("%s", silence->last_sign ? str_text(&sign) : "an operator is running again");
}

/* Returns whether it has ended, or is back. While the watch has trouble, times stand still in any case. */
static bool read_sign(struct silence *silence)
{
    AUTO(json) cJSON *report = json_object();
    AUTO(json) cJSON *controllers = NULL;
    bool was_silent = silence->last_sign != NULL;
    int64_t since_ms;

    if (watch_trouble(silence->controllers, &since_ms))
        return false;
    controllers = objects_of(silence->controllers);
    operator_sign_put(report, controllers, session_now(silence->session));
    mem_set_str(&silence->last_sign, json_str(report, "operatorLastSign", NULL));
    return was_silent != (silence->last_sign != NULL);
}

static void look(struct loop_timer *timer)
{
    struct silence *silence = CONTAINER_OF(timer, struct silence, timer);
    bool is_terminal = silence->session->is_terminal, is_due = !silence->is_soon,
         has_changed = read_sign(silence);

    if (has_changed && !is_terminal)
        complain_of_change(silence);
    silence->is_soon = false;
    loop_timer_start(silence->session->loop, timer, LOOK_MS, look);
    if (has_changed || (is_terminal && is_due))
        silence->on_look(silence->ctx);
}

void silence_look_soon(struct silence *silence)
{
    if (silence->is_soon)
        return;
    silence->is_soon = true;
    loop_timer_start(silence->session->loop, &silence->timer, SETTLE_MS, look);
}

void silence_release(struct silence *silence)
{
    loop_timer_stop(&silence->timer);
    mem_free(silence->last_sign);
}

void silence_put(const struct silence *silence, cJSON *report)
{
    json_put_str(report, "operatorLastSign", silence->last_sign);
}

void silence_add(const struct silence *silence, struct str *out)
{
    AUTO(str) struct str sign = {0};

    add_sign(silence, &sign);
    if (sign.len > 0)
        paragraph_add(out, &silence->session->look, 0, str_text(&sign));
}
