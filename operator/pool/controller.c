#include "base/core/backoff.h"
#include "base/core/fnv.h"
#include "base/core/mem.h"
#include "base/core/str.h"
#include "base/io/log.h"
#include "operator/pool/pool_internal.h"

/* How often a controller is asked for its partitions. */
#define POLL_FIRST_MS 50     /* something was just sent */
#define POLL_BUSY_MAX_MS 500 /* something is under way */
#define POLL_USED_MS 5000    /* partitions are in use, or jobs wait */
#define POLL_IDLE_MS 60000
#define POLL_DOWN_MAX_MS 5000
#define ATTRIBUTES_MS 60000
/* Retry interval for the number of IPUs of a controller that has listed its partitions: it is not used
 * before. */
#define UNSIZED_MS 1000
#define UNSIZED_MAX 3
/* What a client without an access key asks for, to see whether it is answered. */
#define STRANGERS_PARTITION "secure-mode-check"
/* How soon a changed Secret is noticed, once its files are there. */
#define SECRET_READ_MS 1000

static void plan_poll(struct controller *c, int64_t at_most_ms);

int64_t controller_now_ms(const struct controller *c)
{
    return loop_now_ms(c->pool->loop);
}

void controller_count(struct controller *c, enum pool_call call, const struct vipu_result *result)
{
    struct pool_counter *counter = &c->public.calls[call];

    if (result->sent)
        openmetrics_observe(&counter->durations, (uint64_t)result->took_us);
    counter->unanswered += !result->sent || vipu_result_is_unknown(result);
}

static void report_capacity(struct controller *c)
{
    c->pool->options.on_capacity_change(c->pool->options.ctx);
}

static uint64_t fingerprint(const struct vipu_partitions *list)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < list->count; i++) {
        uint64_t hash = fnv64_add(str_hash(list->items[i].id), (uint64_t)list->items[i].ready_state);

        sum += fnv64_add(hash, list->items[i].size); /* order does not matter */
    }
    return sum;
}

static void index_list(struct controller *c)
{
    map_release(&c->listed_by_id);
    c->listed_by_id = (struct map){0};
    for (size_t i = 0; i < c->listed.count; i++)
        map_set(&c->listed_by_id, c->listed.items[i].id, &c->listed.items[i]);
}

static void update_trackers(struct controller *c, int64_t begun_ms)
{
    const char *id;
    void *value;

    for (size_t i = 0; map_next(&c->trackers, &i, &id, &value);)
        partition_tracker_observe(value, map_get(&c->listed_by_id, id), begun_ms);
}

/* ---- asking ---- */

static void set_trouble(struct controller *c, const char *text)
{
    if (text && !c->public.trouble) {
        c->public.trouble_since_unix_s = loop_unix_micros() / 1000000;
        c->public.trouble_since_ms = controller_now_ms(c);
        log_warn("V-IPU controller unavailable", KV("controller", c->public.config->name), KV("cause", text));
    } else if (!text && c->public.trouble) {
        log_info("V-IPU controller available again", KV("controller", c->public.config->name));
    }
    mem_set_str(&c->public.trouble, text);
}

static void report_trouble(struct controller *c)
{
    void *value;

    for (size_t i = 0; map_next(&c->trackers, &i, NULL, &value);)
        partition_tracker_set_unavailable(value, c->public.trouble);
}

/* The reported message changes with the kind of error. A timeout and an I/O error count as the same. */
static bool trouble_has_changed(struct controller *c, enum err_kind kind)
{
    enum err_kind now = kind == ERR_TIMEOUT ? ERR_IO : kind, before = c->public.trouble_kind;

    c->public.trouble_kind = now;
    return now != before;
}

static void on_not_listed(struct controller *c, const struct vipu_result *result)
{
    bool was_known = c->public.is_known;
    struct err err = result->err;

    controller_secret_explain_error(c->public.config, result->sent, &err);
    c->has_listed = false;
    c->public.is_known = false;
    c->failures++;
    set_trouble(c, err.msg);
    if (trouble_has_changed(c, err.kind) || was_known) {
        report_capacity(c);
        report_trouble(c);
    }
    plan_poll(c, 0);
}

/* ---- secure mode ---- */

static void set_security(struct controller *c, enum pool_security security)
{
    if (security == POOL_OPEN && c->public.security != POOL_OPEN)
        log_warn(
            "V-IPU controller without secure mode: all pods that reach it can use and remove all partitions",
            KV("controller", c->public.config->name));
    c->public.security = security;
}

static void on_stranger_answered(void *ctx, const struct vipu_result *result, struct vipu_status *status)
{
    struct controller *c = ctx;

    (void)status;
    vipu_client_free(TAKE(c->stranger));
    if (result->err.kind == ERR_DENIED && result->sent)
        set_security(c, POOL_SECURE);
    else if (result->sent && !vipu_result_is_unknown(result))
        set_security(c, POOL_OPEN);
}

/* A controller that has answered: without a key of ours it is open. With one, it may not even look at it. */
static void check_security(struct controller *c)
{
    if (!c->controller_secret.user_id && !c->controller_secret.cert_file) {
        set_security(c, POOL_OPEN);
        return;
    }
    if (c->stranger)
        return;
    c->stranger = vipu_client_new(
        c->pool->loop,
        &(struct vipu_client_options){
            .endpoint = {.host = c->public.config->host,
                         .port = c->public.config->port,
                         .tls = c->public.config->tls,
                         .ca_file = c->public.config->tls ? c->controller_secret.ca_file : NULL},
            .default_deadline_ms = POOL_DEADLINE_MS});
    (void)vipu_get_partition_status(c->stranger, STRANGERS_PARTITION, 0, on_stranger_answered, c);
}

/* ---- version ---- */

static void on_version(void *ctx, const struct vipu_result *result, const char *text)
{
    struct controller *c = ctx;

    c->version_call = NULL;
    controller_count(c, POOL_VERSION, result);
    if (result->err.kind == ERR_NONE)
        mem_set_str(&c->public.version, text);
}

/* Once after each outage: it may have been upgraded in it. */
static void ask_version(struct controller *c)
{
    if (!c->version_call)
        c->version_call = vipu_get_version(c->client, POOL_DEADLINE_MS, on_version, c);
}

/* ---- lists ---- */

/* A place may be rejected because one of its IPUs has failed, but not one after the other. */
#define REJECTED_PLACES_MAX 3

void controller_note_placed(struct controller *c, bool is_there, bool was_rejected)
{
    c->rejected_places = was_rejected ? c->rejected_places + 1 : 0;
    if (is_there || c->public.chooses || (was_rejected && c->rejected_places < REJECTED_PLACES_MAX))
        return;
    c->public.chooses = true;
    log_warn("V-IPU controller chooses the IPUs of partitions by itself: its queue has strict order",
             KV("controller", c->public.config->name));
    report_capacity(c);
}

static void on_listed(void *ctx, const struct vipu_result *result, struct vipu_partitions *list)
{
    struct controller *c = ctx;
    bool was_known = c->public.is_known, was_troubled = c->public.trouble != NULL, had_listed = c->has_listed;
    uint64_t print;

    c->list_call = NULL;
    controller_count(c, POOL_LIST, result);
    if (result->err.kind != ERR_NONE) {
        on_not_listed(c, result);
        return;
    }
    vipu_partitions_release(&c->listed);
    c->listed = *list;
    *list = (struct vipu_partitions){0};
    c->has_listed = true;
    c->public.listed_unix_s = loop_unix_micros() / 1000000;
    if (!had_listed) {
        check_security(c);
        ask_version(c);
    }
    c->public.is_known = c->has_sized;
    c->failures = 0;
    c->public.trouble_kind = ERR_NONE;
    set_trouble(c, NULL);
    if (was_troubled)
        report_trouble(c);
    index_list(c);
    print = fingerprint(&c->listed);
    if (print != c->fingerprint)
        c->poll_ms = POLL_FIRST_MS;
    update_trackers(c, c->list_begun_ms);
    if (was_known != c->public.is_known || print != c->fingerprint) {
        c->fingerprint = print;
        report_capacity(c);
    }
    plan_poll(c, 0);
}

/* A lost response does not count: a job that is too large would be sent there. But a controller that lists
 * its partitions and repeatedly does not return its IPUs does not support the call, or does not allow it. */
static bool size_is_unavailable(struct controller *c, const struct vipu_result *result)
{
    if (result->sent && !vipu_result_is_unknown(result) && result->err.kind != ERR_DENIED)
        return true;
    c->unsized += c->has_listed;
    return c->unsized >= UNSIZED_MAX;
}

static void on_count(void *ctx, const struct vipu_result *result, uint32_t total)
{
    struct controller *c = ctx;
    uint32_t before = c->public.total_ipus;
    bool was_known = c->public.is_known;

    c->count_call = NULL;
    controller_count(c, POOL_ATTRIBUTES, result);
    if (result->err.kind == ERR_NONE)
        c->public.total_ipus = total;
    c->has_sized = c->has_sized || size_is_unavailable(c, result);
    c->public.is_known = c->has_listed && c->has_sized;
    if (result->err.kind != ERR_NONE)
        c->count_at_ms = controller_now_ms(c) - ATTRIBUTES_MS + (c->has_sized ? POLL_USED_MS : UNSIZED_MS);
    if (c->has_listed && !c->has_sized)
        plan_poll(c, UNSIZED_MS);
    if (before != c->public.total_ipus || was_known != c->public.is_known)
        report_capacity(c);
}

/* ---- credentials and polling ---- */

static void apply_secret(struct controller *c)
{
    bool is_tls = c->public.config->tls;

    vipu_client_set_credentials(
        c->client, &(struct vipu_endpoint){.user_id = c->controller_secret.user_id,
                                           .access_key = c->controller_secret.key,
                                           .tls = is_tls,
                                           .ca_file = is_tls ? c->controller_secret.ca_file : NULL,
                                           .cert_file = is_tls ? c->controller_secret.cert_file : NULL,
                                           .key_file = is_tls ? c->controller_secret.cert_key_file : NULL});
    c->has_credentials = true;
    log_info("V-IPU credentials loaded", KV("controller", c->public.config->name),
             KV("secret", c->public.config->secret));
}

/* The Secret is mounted as files, and they change when it does. */
static void refresh_secret(struct controller *c)
{
    const char *secret = c->public.config->secret;
    AUTO(controller_secret) struct controller_secret fresh = {0};
    AUTO(mem) char *folder = NULL;
    struct err err;

    if (!secret || (c->secret_read_ms && controller_now_ms(c) < c->secret_read_ms + SECRET_READ_MS))
        return;
    c->secret_read_ms = controller_now_ms(c);
    folder = mem_printf("%s/%s", c->pool->options.credentials, secret);
    if (!controller_secret_read(folder, &fresh, &err)) {
        err_wrap(&err, "%s: Secret %s", c->public.config->name, secret);
        vipu_client_reject_calls(c->client, &err);
        c->has_credentials = false;
    } else if (!c->has_credentials || !controller_secret_equal(&fresh, &c->controller_secret)) {
        controller_secret_release(&c->controller_secret);
        c->controller_secret = fresh;
        fresh = (struct controller_secret){0};
        apply_secret(c);
    }
}

static void poll_now(struct controller *c)
{
    int64_t now = controller_now_ms(c);

    refresh_secret(c);
    if (!c->list_call) {
        c->list_begun_ms = now;
        c->list_call = vipu_list_partitions(c->client, NULL, POOL_DEADLINE_MS, on_listed, c);
    }
    if (!c->count_call && (c->count_at_ms == 0 || now >= c->count_at_ms + ATTRIBUTES_MS)) {
        c->count_at_ms = now;
        c->count_call = vipu_count_ipus(c->client, POOL_DEADLINE_MS, on_count, c);
    }
}

static void on_timer(struct loop_timer *timer)
{
    struct controller *c = CONTAINER_OF(timer, struct controller, timer);

    c->next_poll_ms = 0;
    poll_now(c);
}

static bool has_work_in_flight(const struct controller *c)
{
    void *value;

    for (size_t i = 0; map_next(&c->trackers, &i, NULL, &value);) {
        if (partition_tracker_is_in_flight(value))
            return true;
    }
    return false;
}

static int64_t next_delay(struct controller *c)
{
    static const struct backoff down = {.first_ms = 200, .max_ms = POLL_DOWN_MAX_MS};
    int64_t delay;

    if (c->failures)
        return backoff_delay_ms(&down, c->failures, loop_random_u32());
    if (!c->has_sized && !c->count_call)
        return UNSIZED_MS;
    if (has_work_in_flight(c)) {
        delay = c->poll_ms;
        c->poll_ms = 2 * delay < POLL_BUSY_MAX_MS ? 2 * delay : POLL_BUSY_MAX_MS;
        return delay;
    }
    return c->trackers.count || c->pool->waiting ? POLL_USED_MS : POLL_IDLE_MS;
}

/* at_most_ms 0: as often as the state of things asks for. An earlier plan stays. */
static void plan_poll(struct controller *c, int64_t at_most_ms)
{
    int64_t delay = at_most_ms ? at_most_ms : next_delay(c);
    int64_t at = controller_now_ms(c) + delay;

    if (c->list_call && !at_most_ms)
        return;
    if (c->next_poll_ms && c->next_poll_ms <= at)
        return;
    c->next_poll_ms = at;
    loop_timer_start(c->pool->loop, &c->timer, delay, on_timer);
}

void controller_poll_soon(struct controller *c)
{
    c->poll_ms = POLL_FIRST_MS;
    plan_poll(c, 1);
}

void controller_poll_within(struct controller *c, int64_t ms)
{
    plan_poll(c, ms);
}

/* ---- life cycle ---- */

static bool may_send(void *ctx)
{
    struct controller *c = ctx;

    return c->pool->options.may_send(c->pool->options.ctx);
}

void controller_start(struct pool *pool, struct controller *c, const struct vipu_controller_config *config)
{
    c->pool = pool;
    c->public.config = config;
    c->public.listed = &c->listed;
    c->public.controller_secret = &c->controller_secret;
    c->poll_ms = POLL_FIRST_MS;
    c->client = vipu_client_new(
        pool->loop, &(struct vipu_client_options){
                        .endpoint = {.host = config->host, .port = config->port, .tls = config->tls},
                        .default_deadline_ms = POOL_DEADLINE_MS,
                        .may_send = may_send,
                        .may_send_ctx = c,
                    });
    plan_poll(c, 1);
}

void controller_stop(struct controller *c)
{
    void *value;

    loop_timer_stop(&c->timer);
    for (size_t i = 0; map_next(&c->trackers, &i, NULL, &value);)
        partition_tracker_free(value);
    map_release(&c->trackers);
    vipu_client_free(c->client);
    vipu_client_free(c->stranger);
    map_release(&c->listed_by_id);
    vipu_partitions_release(&c->listed);
    controller_secret_release(&c->controller_secret);
    cordon_release(&c->public.cordon);
    mem_free(c->public.trouble);
    mem_free(c->public.version);
}
