#include "operator/vipucontroller/controller_status.h"

#include <inttypes.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/timefmt.h"

const char *const CONTROLLER_VISIBILITIES[] = {"names", "namespaces", "sizes", NULL};

/* ---- conditions ---- */

struct condition {
    const char *type, *status, *reason, *message;
};

static const cJSON *find_condition(const cJSON *status, const char *type)
{
    JSON_EACH (condition, json_at(status, "conditions")) {
        if (str_eq(json_str(condition, "type", ""), type))
            return condition;
    }
    return NULL;
}

static void put_condition(cJSON *conditions, const cJSON *before, const struct condition *want,
                          const char *now)
{
    const cJSON *old = find_condition(before, want->type);
    cJSON *condition = json_push_take(conditions, json_object());

    json_put_str(condition, "type", want->type);
    json_put_str(condition, "status", want->status);
    json_put_str(condition, "reason", want->reason);
    json_put_str(condition, "message", want->message);
    json_put_str(condition, "lastTransitionTime",
                 str_eq(json_str(old, "status", ""), want->status) ? json_str(old, "lastTransitionTime", now)
                                                                   : now);
}

/* Causes name addresses. */
static struct condition reachable(const struct controller_facts *facts,
                                  const struct controller_publication *how)
{
    const char *cause = how->hides_address ? "see the operator's log" : facts->trouble;

    if (!facts->address)
        return (struct condition){"Reachable", "Unknown", "NotConfigured",
                                  "The operator does not know this V-IPU controller"};
    if (facts->is_known)
        return (struct condition){"Reachable", "True", "Answers", "The V-IPU controller answers"};
    if (!facts->trouble)
        return (struct condition){"Reachable", "Unknown", "NotAskedYet",
                                  "The V-IPU controller has not answered yet"};
    return (struct condition){"Reachable", "False",
                              facts->is_rejected ? "AccessRefused" : "ControllerUnavailable", cause};
}

static struct condition configured(const struct controller_facts *facts)
{
    if (facts->address)
        return (struct condition){"Configured", "True", "Configured",
                                  "The operator's configuration has this V-IPU controller"};
    return (struct condition){"Configured", "False", "NotConfigured",
                              "The operator's configuration has no V-IPU controller of this name; delete "
                              "this object, or add the controller to global.vipuControllers"};
}

static struct condition healthy(const struct controller_facts *facts, struct str *text)
{
    size_t failed = 0;

    if (!facts->is_known)
        return (struct condition){"Healthy", "Unknown", "NoAnswer",
                                  "The V-IPU controller does not list its partitions"};
    for (size_t i = 0; i < facts->partition_count; i++)
        failed += facts->partitions[i].listed->ready_state == VIPU_READY_ERROR;
    if (failed == 0)
        return (struct condition){"Healthy", "True", "NoFailures", "No partition has failed"};
    str_add_count(text, failed, "partition", NULL);
    str_adds(text, failed == 1 ? " has failed" : " have failed");
    return (struct condition){"Healthy", "False", "PartitionsFailed", str_text(text)};
}

/* Of a controller that does not, the queue has strict order. */
static struct condition honors_places(const struct controller_facts *facts)
{
    if (facts->chooses)
        return (struct condition){"HonorsPlaces", "False", "ChoosesIPUs",
                                  "The V-IPU controller chooses the IPUs of partitions by itself, so its "
                                  "queue has strict order and expected starts are a guess"};
    if (!facts->is_known)
        return (struct condition){"HonorsPlaces", "Unknown", "NoAnswer",
                                  "The V-IPU controller does not list its partitions"};
    if (!facts->pool->placed)
        return (struct condition){"HonorsPlaces", "False", "PlacesNotReported",
                                  "The V-IPU controller does not report which IPUs partitions have, so its "
                                  "queue has strict order and expected starts are a guess"};
    return (struct condition){"HonorsPlaces", "True", "HonorsPlaces",
                              "Partitions get the IPUs that the operator lists, as far as the V-IPU "
                              "controller has shown"};
}

static void put_conditions(cJSON *status, const struct controller_facts *facts,
                           const struct controller_publication *how, const cJSON *before, int64_t now_unix_s)
{
    AUTO(str) struct str text = {0};
    const struct condition rows[] = {reachable(facts, how), configured(facts), healthy(facts, &text),
                                     honors_places(facts)};
    cJSON *conditions = json_put_array(status, "conditions");
    char now[TIMEFMT_RFC3339_SIZE];

    timefmt_rfc3339(now_unix_s, now);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        put_condition(conditions, before, &rows[i], now);
}

/* ---- IPUs and domains ---- */

static void put_ipus(cJSON *status, const struct controller_facts *facts)
{
    const struct vipu_pool_view *pool = facts->pool;
    cJSON *ipus;
    uint32_t others = 0;

    if (!pool->total_ipus) /* the controller did not report it */
        return;
    for (size_t i = 0; i < facts->partition_count; i++)
        others += facts->partitions[i].is_ours ? 0 : facts->partitions[i].listed->size;
    ipus = json_put_object(status, "ipus");
    json_put_i64(ipus, "total", pool->total_ipus);
    json_put_i64(ipus, "free", pool->free_ipus);
    json_put_i64(ipus, "ours", pool->used_ipus > others ? pool->used_ipus - others : 0);
    json_put_i64(ipus, "others", others);
    json_put_i64(ipus, "cordoned", pool->cordoned_ipus);
    json_put_i64(ipus, "largestFree", vipu_pool_largest_free(pool));
}

static void put_mask(cJSON *object, const char *key, uint64_t ipus)
{
    json_put_strf(object, key, "%016" PRIx64, ipus);
}

static void put_domains(cJSON *status, const struct vipu_pool_view *pool)
{
    cJSON *domains = pool->placed ? json_put_array(status, "domains") : NULL;
    struct vipu_pool_domain domain;

    for (size_t at = 0; vipu_pool_next_domain(pool, &at, &domain);) {
        AUTO(mem) char *name = cordon_domain_name(pool, &domain);
        cJSON *item = json_push_take(domains, json_object());

        json_put_str(item, "name", name);
        json_put_i64(item, "size", domain.size);
        put_mask(item, "free", domain.free);
        if (domain.is_cordoned)
            json_put_bool(item, "cordoned", true);
    }
}

/* ---- partitions ---- */

/* The partition's IPUs in the domain. */
static uint64_t mask_in(const struct vipu_partition *partition, const struct vipu_pool_domain *domain)
{
    uint64_t mask = 0;

    for (uint32_t i = 0; i < partition->size && str_eq(partition->cluster_id, domain->cluster); i++) {
        if (partition->ipus[i].domain_topology_id == domain->index)
            mask |= UINT64_C(1) << partition->ipus[i].topology_id;
    }
    return mask;
}

static void put_places(cJSON *item, const struct vipu_pool_view *pool, const struct vipu_partition *partition)
{
    cJSON *places = pool->placed ? json_put_array(item, "places") : NULL;
    struct vipu_pool_domain domain;

    for (size_t at = 0; vipu_pool_next_domain(pool, &at, &domain);) {
        uint64_t mask = mask_in(partition, &domain);

        if (mask) {
            AUTO(mem) char *name = cordon_domain_name(pool, &domain);
            cJSON *place = json_push_take(places, json_object());

            json_put_str(place, "domain", name);
            put_mask(place, "ipus", mask);
        }
    }
}

/* IDs contain names of jobs and namespaces. */
static void put_partition(cJSON *item, const struct controller_partition *partition,
                          const struct controller_facts *facts, enum controller_visibility visibility)
{
    json_put_str(item, "id", visibility == CONTROLLER_NAMES ? partition->listed->id : NULL);
    json_put_i64(item, "size", partition->listed->size);
    json_put_str(item, "state", vipu_ready_state_name(partition->listed->ready_state));
    json_put_bool(item, "ours", partition->is_ours);
    json_put_str(item, "job", visibility == CONTROLLER_NAMES ? partition->job_key : NULL);
    json_put_str(item, "namespace", visibility == CONTROLLER_SIZES ? NULL : partition->job_ns);
    json_put_time(item, "until", partition->until_s);
    put_places(item, facts->pool, partition->listed);
}

static void put_partitions(cJSON *status, const struct controller_facts *facts,
                           enum controller_visibility visibility)
{
    cJSON *list = json_put_array(status, "partitions");

    for (size_t i = 0; i < facts->partition_count && i < CONTROLLER_PARTITIONS_MAX; i++)
        put_partition(json_push_take(list, json_object()), &facts->partitions[i], facts, visibility);
    if (facts->partition_count > CONTROLLER_PARTITIONS_MAX)
        json_put_i64(status, "morePartitions", (int64_t)(facts->partition_count - CONTROLLER_PARTITIONS_MAX));
}

/* ---- cordon ---- */

static bool uses_cordoned(const struct vipu_partition *partition, const struct vipu_pool_view *pool)
{
    struct vipu_pool_domain domain;

    if (pool->is_cordoned)
        return true;
    for (size_t at = 0; vipu_pool_next_domain(pool, &at, &domain);) {
        if (domain.is_cordoned && mask_in(partition, &domain))
            return true;
    }
    return false;
}

/* Who still uses cordoned IPUs, and when the last of its partitions ends. */
struct holder {
    const char *name;
    int64_t until_s;
};

static void add_holder(struct holder *holders, size_t *count, const char *name, int64_t until_s)
{
    size_t i = 0;

    while (i < *count && !str_eq(holders[i].name, name))
        i++;
    if (!name || i == CONTROLLER_HOLDERS_MAX)
        return;
    if (i == *count)
        holders[(*count)++] = (struct holder){.name = name};
    if (holders[i].until_s < until_s)
        holders[i].until_s = until_s;
}

static void put_holders(cJSON *cordon, const struct holder *holders, size_t count)
{
    cJSON *list = json_put_array(cordon, "holders");

    for (size_t i = 0; i < count; i++) {
        cJSON *item = json_push_take(list, json_object());

        json_put_str(item, "name", holders[i].name);
        json_put_time(item, "until", holders[i].until_s);
    }
}

static void put_drain(cJSON *cordon, const struct controller_facts *facts,
                      enum controller_visibility visibility)
{
    struct holder holders[CONTROLLER_HOLDERS_MAX];
    size_t holder_count = 0;
    uint32_t count = 0, ipus = 0;
    int64_t until_s = 0;

    for (size_t i = 0; i < facts->partition_count; i++) {
        const struct controller_partition *partition = &facts->partitions[i];

        if (!uses_cordoned(partition->listed, facts->pool))
            continue;
        count++;
        ipus += partition->listed->size;
        if (until_s < partition->until_s)
            until_s = partition->until_s;
        add_holder(holders, &holder_count,
                   visibility == CONTROLLER_NAMES ? partition->job_key : partition->job_ns,
                   partition->until_s);
    }
    json_put_i64(cordon, "partitions", count);
    json_put_i64(cordon, "ipus", ipus);
    json_put_str(cordon, "state", count ? "Draining" : "Drained");
    if (count)
        json_put_time(cordon, "until", until_s);
    if (visibility != CONTROLLER_SIZES)
        put_holders(cordon, holders, holder_count);
}

static void put_complaint(cJSON *cordon, const struct controller_facts *facts)
{
    AUTO(strv) struct strv unknown = {0};

    if (!cordon_can_steer(facts->pool)) {
        json_put_str(cordon, "message",
                     "The whole controller is cordoned: it has not reported yet in which domains its IPUs "
                     "are, or never does");
        return;
    }
    cordon_find_unknown(facts->cordon, facts->pool, &unknown);
    if (unknown.count)
        json_put_strf(cordon, "message",
                      "The controller has no domain %s; status.domains lists the names that the annotation "
                      "can have",
                      unknown.items[0]);
}

static void put_cordon(cJSON *status, const struct controller_facts *facts,
                       enum controller_visibility visibility)
{
    struct vipu_pool_domain domain;
    cJSON *cordon, *domains;

    if (!cordon_is_set(facts->cordon))
        return;
    cordon = json_put_object(status, "cordon");
    if (facts->cordon->domains.count)
        put_complaint(cordon, facts);
    put_drain(cordon, facts, visibility);
    if (facts->pool->is_cordoned)
        return;
    domains = json_put_array(cordon, "domains");
    for (size_t at = 0; vipu_pool_next_domain(facts->pool, &at, &domain);) {
        AUTO(mem) char *name = domain.is_cordoned ? cordon_domain_name(facts->pool, &domain) : NULL;

        if (name)
            json_push_str(domains, name);
    }
}

/* ---- starts ---- */

static void put_starts(cJSON *status, const struct controller_facts *facts, const cJSON *before)
{
    const cJSON *told = json_at(before, "starts");
    cJSON *starts;

    if (!facts->start_count) { /* what the previous leader told stays until this one knows it */
        if (told)
            json_put_take(status, "starts", json_dup(told));
        return;
    }
    starts = json_put_array(status, "starts");
    for (size_t i = 0; i < facts->start_count; i++)
        json_push_take(starts, controller_start_print(&facts->starts[i]));
}

/* ---- shares ---- */

/* In whole percents, so that a status does not change all the time. */
static void put_shares(cJSON *status, const struct share_list *list, enum controller_visibility visibility)
{
    cJSON *shares, *namespaces;

    if (!list || !list->half_life_s || visibility == CONTROLLER_SIZES)
        return;
    shares = json_put_object(status, "shares");
    json_put_i64(shares, "halfLifeSeconds", list->half_life_s);
    namespaces = json_put_array(shares, "namespaces");
    for (size_t i = 0; i < list->count && i < CONTROLLER_SHARES_MAX; i++) {
        uint32_t percent = share_percent(list, &list->items[i]);
        cJSON *item;

        if (!percent)
            break;
        item = json_push_take(namespaces, json_object());
        json_put_str(item, "namespace", list->items[i].ns);
        json_put_i64(item, "usedPercent", percent);
        json_put_i64(item, "weight", list->items[i].weight);
    }
}

/* ---- the status ---- */

/* The column shows it in terminals. */
static void put_version(cJSON *status, const char *version)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .+-_~:()";
    size_t len = version ? strlen(version) : 0;

    if (len > 0 && len <= CONTROLLER_VERSION_MAX && strspn(version, allowed) == len)
        json_put_str(status, "version", version);
}

static void put_answer_time(cJSON *status, const struct controller_facts *facts, const cJSON *before)
{
    const char *last = json_str(before, "lastAnswerTime", NULL);
    int64_t last_s;

    if (last && timefmt_parse_rfc3339(last, &last_s) && last_s <= facts->listed_unix_s &&
        facts->listed_unix_s < last_s + CONTROLLER_ANSWER_S)
        json_put_str(status, "lastAnswerTime", last);
    else if (facts->listed_unix_s)
        json_put_time(status, "lastAnswerTime", facts->listed_unix_s);
    else
        json_put_str(status, "lastAnswerTime", last); /* a new leader has not asked yet */
}

cJSON *controller_status(const struct controller_facts *facts, const struct controller_publication *how,
                         const cJSON *before, int64_t now_unix_s)
{
    cJSON *status = json_object();

    put_conditions(status, facts, how, before, now_unix_s);
    if (!facts->address)
        return status;
    if (!how->hides_address)
        json_put_str(status, "address", facts->address);
    put_version(status, facts->version);
    put_answer_time(status, facts, before);
    put_cordon(status, facts, how->visibility);
    json_put_i64(status, "waiting", facts->waiting);
    put_shares(status, facts->shares, how->visibility);
    if (!facts->listed_unix_s)
        return status;
    put_ipus(status, facts);
    put_domains(status, facts->pool);
    put_partitions(status, facts, how->visibility);
    put_starts(status, facts, before);
    return status;
}
