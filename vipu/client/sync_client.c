#include "vipu/client/sync_client.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/io/loop.h"
#include "vipu/client/client.h"
#include "vipu/wire/grpc/grpc.h"

#define POLL_MS 50
#define AWAY_MS 5000
#define LAST_LOOK_MS 1000 /* for the last poll of a partition, before the wait is given up */
#define ROUND_MS 100      /* a time that is left is shown to users in messages */

struct vipu_sync_client {
    struct loop *loop;
    struct vipu_client *client;
    int64_t timeout_ms;
    int64_t end_ms; /* of all that follows a connect; 0: each call has timeout_ms */
    struct loop_timer pause;
    struct vipu_result result;
    struct str reason;
    vipu_sync_watch_fn watch;
    void *watch_ctx;
    void *ret; /* where the response of the call in flight is stored */
};

struct vipu_sync_client *vipu_sync_new(const struct vipu_endpoint *endpoint, const char *user_agent,
                                       uint32_t timeout_s)
{
    struct vipu_sync_client *s = NEW(struct vipu_sync_client);
    struct vipu_client_options options = {.endpoint = *endpoint, .user_agent = user_agent};

    s->loop = loop_new();
    s->client = vipu_client_new(s->loop, &options);
    s->timeout_ms = (int64_t)timeout_s * 1000;
    return s;
}

void vipu_sync_free(struct vipu_sync_client *s)
{
    if (!s)
        return;
    vipu_client_free(s->client);
    loop_free(s->loop);
    str_release(&s->reason);
    mem_free(s);
}

const char *vipu_sync_target(const struct vipu_sync_client *s)
{
    return vipu_client_target(s->client);
}

const char *vipu_sync_reason(const struct vipu_sync_client *s)
{
    return str_text(&s->reason);
}

bool vipu_sync_is_unknown(const struct vipu_sync_client *s)
{
    return vipu_result_is_unknown(&s->result);
}

/* The message after the controller's address, which the client puts first. */
static const char *cause_of(const struct vipu_sync_client *s, const struct err *err)
{
    size_t len = strlen(vipu_sync_target(s));

    if (err->kind == ERR_TIMEOUT)
        return "context deadline exceeded";
    if (strncmp(err->msg, vipu_sync_target(s), len) == 0 && str_has_prefix(err->msg + len, ": "))
        return err->msg + len + 2;
    return err->msg;
}

static int64_t left_ms(const struct vipu_sync_client *s)
{
    int64_t left = s->end_ms - loop_clock_ms();

    if (!s->end_ms)
        return s->timeout_ms;
    return left > 0 ? (left + ROUND_MS - 1) / ROUND_MS * ROUND_MS : ROUND_MS;
}

/* Runs the call that was just started to its end. */
static bool finish(struct vipu_sync_client *s, struct err *err)
{
    const struct err *why = &s->result.err;

    loop_run(s->loop);
    if (why->kind == ERR_NONE)
        return true;
    if (s->result.sent && why->kind == ERR_TIMEOUT && s->end_ms && loop_clock_ms() >= s->end_ms)
        return err_set(err, why->kind, "%s: no response within %lld ms", vipu_sync_target(s),
                       (long long)s->timeout_ms); /* of which this call had the rest */
    if (s->result.sent || !(why->kind == ERR_IO || why->kind == ERR_TIMEOUT || why->kind == ERR_NOT_FOUND ||
                            why->kind == ERR_DENIED))
        *err = *why;
    else
        err_set_code(err, why->kind, why->code, "unable to connect to VIRM/V-IPU Controller at %s: %s",
                     vipu_sync_target(s), cause_of(s, why));
    return false;
}

static void store_result(struct vipu_sync_client *s, const struct vipu_result *result)
{
    s->result = *result;
    str_clear(&s->reason);
    str_adds(&s->reason, result->reason);
    loop_stop(s->loop);
}

/* Moves what was received to where the caller wants it. */
static void take(struct vipu_sync_client *s, const struct vipu_result *result, void *received, size_t size)
{
    memcpy(s->ret, received, size);
    memset(received, 0, size);
    store_result(s, result);
}

static void on_text(void *ctx, const struct vipu_result *result, const char *text)
{
    struct vipu_sync_client *s = ctx;

    if (s->ret && result->err.kind == ERR_NONE)
        *(char **)s->ret = mem_strdup(text);
    store_result(s, result);
}

static void on_done(void *ctx, const struct vipu_result *result)
{
    store_result(ctx, result);
}

static void on_partitions(void *ctx, const struct vipu_result *result, struct vipu_partitions *list)
{
    take(ctx, result, list, sizeof(*list));
}

static void on_agents(void *ctx, const struct vipu_result *result, struct vipu_agents *agents)
{
    take(ctx, result, agents, sizeof(*agents));
}

static void on_status(void *ctx, const struct vipu_result *result, struct vipu_status *status)
{
    take(ctx, result, status, sizeof(*status));
}

static void on_ipuof(void *ctx, const struct vipu_result *result, struct vipu_ipuof_config *config)
{
    take(ctx, result, config, sizeof(*config));
}

bool vipu_sync_version(struct vipu_sync_client *s, char **ret, struct err *err)
{
    s->ret = ret;
    vipu_get_version(s->client, left_ms(s), on_text, s);
    return finish(s, err);
}

bool vipu_sync_partitions(struct vipu_sync_client *s, const char *allocation, struct vipu_partitions *ret,
                          struct err *err)
{
    s->ret = ret;
    vipu_list_partitions(s->client, allocation, left_ms(s), on_partitions, s);
    return finish(s, err);
}

bool vipu_sync_agents(struct vipu_sync_client *s, struct vipu_agents *ret, struct err *err)
{
    s->ret = ret;
    vipu_list_ipu_attributes(s->client, left_ms(s), on_agents, s);
    return finish(s, err);
}

bool vipu_sync_create(struct vipu_sync_client *s, const struct vipu_requirements *requirements,
                      struct err *err)
{
    s->ret = NULL;
    vipu_create_partition(s->client, requirements, left_ms(s), on_text, s);
    return finish(s, err);
}

bool vipu_sync_remove(struct vipu_sync_client *s, const char *id, bool force, struct err *err)
{
    vipu_remove_partition(s->client, id, force, left_ms(s), on_done, s);
    return finish(s, err);
}

bool vipu_sync_reset(struct vipu_sync_client *s, const char *id, bool relocatable, struct err *err)
{
    vipu_reset_partition(s->client, id, relocatable, NULL, left_ms(s), on_done, s);
    return finish(s, err);
}

static bool status_within(struct vipu_sync_client *s, const char *id, int64_t deadline_ms,
                          struct vipu_status *ret, struct err *err)
{
    s->ret = ret;
    vipu_get_partition_status(s->client, id, deadline_ms, on_status, s);
    return finish(s, err);
}

bool vipu_sync_status(struct vipu_sync_client *s, const char *id, struct vipu_status *ret, struct err *err)
{
    return status_within(s, id, left_ms(s), ret, err);
}

bool vipu_sync_ipuof(struct vipu_sync_client *s, const char *id, int64_t gcd, struct vipu_ipuof_config *ret,
                     struct err *err)
{
    s->ret = ret;
    vipu_get_ipuof_config(s->client, id, gcd, left_ms(s), on_ipuof, s);
    return finish(s, err);
}

static void on_message(void *ctx, const struct vipu_result *result, struct slice message)
{
    struct vipu_sync_client *s = ctx;

    str_add(s->ret, message.ptr, message.len);
    store_result(s, result);
}

bool vipu_sync_read_message(struct vipu_sync_client *s, const char *path, struct slice message,
                            struct str *ret, struct err *err)
{
    s->ret = ret;
    vipu_read_message(s->client, path, message, left_ms(s), on_message, s);
    return finish(s, err);
}

static void on_pause_over(struct loop_timer *timer)
{
    loop_stop(CONTAINER_OF(timer, struct vipu_sync_client, pause)->loop);
}

static void sleep_ms(struct vipu_sync_client *s)
{
    loop_timer_start(s->loop, &s->pause, POLL_MS, on_pause_over);
    loop_run(s->loop);
}

bool vipu_sync_connect(struct vipu_sync_client *s, int64_t timeout_ms, struct err *err)
{
    int64_t now = loop_clock_ms(), end = now + (timeout_ms < s->timeout_ms ? timeout_ms : s->timeout_ms);
    const struct err *why = &s->result.err;
    AUTO(mem) char *cause = NULL;

    s->end_ms = now + s->timeout_ms;
    for (s->ret = NULL;; now = loop_clock_ms()) {
        vipu_get_version(s->client, end > now ? end - now : 1, on_text, s);
        if (finish(s, err))
            return true;
        /* A second try of a wrong key would only hear that it has to wait. */
        if (s->result.sent)
            return why->code != GRPC_UNAUTHENTICATED &&
                   (why->kind != ERR_TIMEOUT || loop_clock_ms() < s->end_ms);
        if (why->kind != ERR_IO)
            break;
        mem_set_str(&cause, cause_of(s, why));
        if (loop_clock_ms() >= end)
            break;
        sleep_ms(s);
    }
    /* The original's message, which users search for; the cause follows it. */
    if (cause && (why->kind == ERR_IO || why->kind == ERR_TIMEOUT))
        err_set_code(err, why->kind, why->code,
                     "unable to connect to VIRM/V-IPU Controller at %s: context deadline exceeded (%s)",
                     vipu_sync_target(s), cause);
    return false;
}

void vipu_sync_watch(struct vipu_sync_client *s, vipu_sync_watch_fn fn, void *ctx)
{
    s->watch = fn;
    s->watch_ctx = ctx;
}

static void report_state(const struct vipu_sync_client *s, int64_t end_ms, const char *id,
                         const struct vipu_status *status)
{
    if (s->watch)
        s->watch(s->watch_ctx, id, vipu_operation_state_name(status->operation_state),
                 s->timeout_ms - (end_ms - loop_clock_ms()));
}

/* Reading is safe to repeat, so it is retried while the controller restarts. */
static bool poll_state(struct vipu_sync_client *s, const char *id, struct vipu_status *ret, struct err *err)
{
    int64_t end_ms = loop_clock_ms() + AWAY_MS;

    while (!status_within(s, id, left_ms(s) > LAST_LOOK_MS ? left_ms(s) : LAST_LOOK_MS, ret, err)) {
        if (err->code != GRPC_UNAVAILABLE || loop_clock_ms() >= end_ms)
            return false;
        sleep_ms(s);
    }
    return true;
}

static int64_t end_of_wait(const struct vipu_sync_client *s)
{
    return s->end_ms ? s->end_ms : loop_clock_ms() + s->timeout_ms;
}

static bool pause_until(struct vipu_sync_client *s, int64_t end_ms, const char *id, const char *what,
                        struct err *err)
{
    if (loop_clock_ms() >= end_ms)
        return err_set(err, ERR_TIMEOUT, "timed out after %lld s waiting for partition %s to %s",
                       (long long)(s->timeout_ms / 1000), id, what);
    sleep_ms(s);
    return true;
}

static bool failure_of(const struct vipu_status *status, const char *id, struct err *err)
{
    AUTO(str) struct str reasons = {.max = sizeof(err->msg)};

    for (size_t i = 0; i < status->error_count; i++)
        str_addf(&reasons, "%s%s", i ? "; " : "", status->errors[i]);
    return err_set(err, ERR_CONFLICT, "partition %s is in state %s%s%s", id,
                   vipu_ready_state_name(status->ready_state), reasons.len ? ": " : "", str_text(&reasons));
}

bool vipu_sync_wait_active(struct vipu_sync_client *s, const char *id, struct err *err)
{
    int64_t end_ms = end_of_wait(s);

    for (;;) {
        AUTO(vipu_status) struct vipu_status status = {0};

        if (!poll_state(s, id, &status, err))
            return false;
        if (status.ready_state == VIPU_READY_ACTIVE)
            return true;
        if (status.ready_state == VIPU_READY_ERROR || status.operation_state == VIPU_OPERATION_FAILED)
            return failure_of(&status, id, err);
        report_state(s, end_ms, id, &status);
        if (!pause_until(s, end_ms, id, "become active", err))
            return false;
    }
}

/* The controller itself reports this; a host name that is not found is a different error. */
static bool is_gone(const struct vipu_sync_client *s, const struct err *err)
{
    return s->result.sent && err->kind == ERR_NOT_FOUND;
}

bool vipu_sync_wait_gone(struct vipu_sync_client *s, const char *id, struct err *err)
{
    int64_t end_ms = end_of_wait(s);

    for (;;) {
        AUTO(vipu_status) struct vipu_status status = {0};

        if (!poll_state(s, id, &status, err))
            return is_gone(s, err);
        report_state(s, end_ms, id, &status);
        if (!pause_until(s, end_ms, id, "be removed", err))
            return false;
    }
}

bool vipu_sync_remove_and_wait(struct vipu_sync_client *s, const char *id, struct err *err)
{
    int64_t end_ms = loop_clock_ms() + AWAY_MS;

    while (!vipu_sync_remove(s, id, false, err)) {
        if (is_gone(s, err))
            return true;
        if (err->kind != ERR_IO || loop_clock_ms() >= end_ms)
            return false;
        sleep_ms(s);
    }
    return vipu_sync_wait_gone(s, id, err);
}
