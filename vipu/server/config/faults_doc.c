#include "vipu/server/config/faults_doc.h"

#include "base/core/mem.h"
#include "base/text/suggest.h"
#include "vipu/server/config/faults_settings.h"

/* ---- reading ---- */

/* A test compares them with the methods there are. */
static const char *const methods[] = {
    "GetVersion",
    "ListPartitions",
    "ListIPUAttributes",
    "CreatePartition",
    "RemovePartition",
    "ResetPartition",
    "GetPartitionIpuofConfig",
    "GetPartitionStatus",
    "ListAllocations",
    "ListClusters",
    "GetCapacity",
    "Check",
    "Watch",
    "ServerReflectionInfo",
};

bool faults_know_method(const char *pattern)
{
    for (size_t i = 0; i < COUNT_OF(methods); i++)
        if (fault_pattern_matches(pattern, methods[i]))
            return true;
    return false;
}

static void add_unknown_name(struct settings_reader *r, const cJSON *node, const char *what,
                             const struct suggest *suggest)
{
    const char *meant = suggest_best(suggest);

    settings_add_error(r, node, "unknown %s \"%.60s\"%s%s%s", what, suggest->word,
                       meant ? "; did you mean \"" : "", meant ? meant : "", meant ? "\"?" : "");
}

static void add_unknown_method(struct settings_reader *r, const cJSON *node, const char *pattern)
{
    struct suggest suggest = suggest_init(pattern);

    for (size_t i = 0; i < COUNT_OF(methods); i++)
        suggest_candidate(&suggest, methods[i]);
    add_unknown_name(r, node, "method", &suggest);
}

static void check_agent(struct settings_reader *r, const cJSON *node, const char *pattern,
                        const struct vipu_clusters *clusters)
{
    struct suggest suggest = suggest_init(pattern);

    for (size_t c = 0; c < clusters->count; c++) {
        for (size_t d = 0; d < clusters->items[c].domain_count; d++) {
            const struct vipu_cluster_domain *domain = &clusters->items[c].domains[d];

            for (uint32_t m = 0; m < domain->machine_count; m++) {
                if (fault_pattern_matches(pattern, domain->machines[m].name))
                    return;
                suggest_candidate(&suggest, domain->machines[m].name);
            }
        }
    }
    add_unknown_name(r, node, "agent", &suggest);
}

static void check_delay(struct settings_reader *r, const cJSON *node, const char *key,
                        struct fault_delay delay)
{
    if (delay.up_to && delay.up_to < delay.ms)
        settings_add_error(r, node, "%s-up-to-ms is less than %s-ms", key, key);
}

static void check_call(struct settings_reader *r, const cJSON *node, const struct fault_call *rule)
{
    bool changes_answer = rule->status || rule->drop;

    if (rule->method && !faults_know_method(rule->method))
        add_unknown_method(r, json_at(node, "method"), rule->method);
    check_delay(r, node, "latency", rule->latency);
    check_delay(r, node, "late", rule->late);
    if (rule->status && rule->drop)
        settings_add_error(r, node, "status and drop are mutually exclusive");
    if (rule->takes_effect && !changes_answer)
        settings_add_error(r, node, "takes-effect requires status or drop");
    if (rule->message && !rule->status)
        settings_add_error(r, node, "message requires status");
    if (!changes_answer && !rule->latency.ms && !rule->latency.up_to && !rule->late.ms && !rule->late.up_to)
        settings_add_error(r, node, "rule has no effect: set latency-ms, late-ms, status or drop");
}

/* Allocates the rules of a list in *ret; NULL if there is none. */
static const cJSON *read_list(struct settings_reader *r, const cJSON *node, const char *key, size_t size,
                              void **ret)
{
    const cJSON *list = settings_list(r, node, key);
    int count = cJSON_GetArraySize(list);

    if (!list || count == 0)
        return NULL;
    if ((unsigned)count > FAULTS_MAX_RULES) {
        settings_add_error(r, list, "%d rules in %s, at most %u are allowed", count, key, FAULTS_MAX_RULES);
        return NULL;
    }
    *ret = mem_alloc((size_t)count * size);
    return list;
}

static void read_calls(struct settings_reader *r, const cJSON *node, struct faults *faults)
{
    void *rules = NULL;
    const cJSON *list = read_list(r, node, "calls", sizeof(*faults->calls), &rules);

    faults->calls = rules;
    JSON_EACH (item, list) {
        struct fault_call *rule = &faults->calls[faults->call_count++];

        *rule = fault_call_plain;
        if (settings_read(r, item, fault_call_settings, rule))
            check_call(r, item, rule);
    }
}

static void read_partitions(struct settings_reader *r, const cJSON *node, struct faults *faults)
{
    void *rules = NULL;
    const cJSON *list = read_list(r, node, "partitions", sizeof(*faults->partitions), &rules);

    faults->partitions = rules;
    JSON_EACH (item, list) {
        struct fault_partition *rule = &faults->partitions[faults->partition_count++];

        *rule = fault_partition_plain;
        (void)settings_read(r, item, fault_partition_settings, rule);
    }
}

static void read_hardware(struct settings_reader *r, const cJSON *node, const struct vipu_clusters *clusters,
                          struct faults *faults)
{
    void *rules = NULL;
    const cJSON *list = read_list(r, node, "hardware", sizeof(*faults->hardware), &rules);

    faults->hardware = rules;
    JSON_EACH (item, list) {
        struct fault_hardware *rule = &faults->hardware[faults->hardware_count++];

        *rule = fault_hardware_plain;
        if (!settings_read(r, item, fault_hardware_settings, rule))
            continue;
        if (!json_at(item, "agent"))
            settings_add_error(r, item, "agent is required for hardware");
        else if (rule->agent)
            check_agent(r, json_at(item, "agent"), rule->agent, clusters);
    }
}

void faults_read_node(struct settings_reader *r, const cJSON *node, const struct vipu_clusters *clusters,
                      struct faults *ret)
{
    const cJSON *quirks = json_at(node, "quirks");

    *ret = faults_plain;
    if (!node || !settings_read(r, node, faults_settings, ret))
        return;
    if (ret->stall && ret->stall_ms)
        settings_add_error(r, node, "stall and stall-ms are mutually exclusive");
    if (quirks)
        (void)settings_read(r, quirks, fault_quirk_settings, &ret->quirks);
    read_calls(r, node, ret);
    read_partitions(r, node, ret);
    read_hardware(r, node, clusters, ret);
}

bool faults_read(struct slice text, const char *name, const struct vipu_clusters *clusters,
                 struct faults *ret, struct strv *problems)
{
    struct settings_reader r = {.name = name, .problems = problems};
    size_t before = problems->count;
    struct faults faults;
    struct err err;

    if (!yaml_parse(text, name, &r.doc, &err)) {
        strv_push(problems, err.msg);
        return false;
    }
    faults_read_node(&r, r.doc.root, clusters, &faults);
    yaml_release(&r.doc);
    if (problems->count == before) {
        *ret = faults;
        return true;
    }
    faults_release(&faults);
    return false;
}

/* ---- writing ---- */

union view {
    const void *any;
    const char *const *text;
    const uint32_t *number;
    const unsigned *word;
    const bool *flag;
};

static union view view_of(const struct setting *row, const void *rule)
{
    return (union view){.any = (const char *)rule + row->offset};
}

/* The settings that differ from the default rule. */
static void put_rows(cJSON *object, const struct setting *rows, const void *rule, const void *plain)
{
    for (const struct setting *row = rows; row->key; row++) {
        union view is = view_of(row, rule), was = view_of(row, plain);

        switch (row->kind) {
        case SETTING_TEXT:
        case SETTING_ADDRESS:
            if (*is.text)
                json_put_str(object, row->key, *is.text);
            break;
        case SETTING_NUMBER:
            if (*is.number != *was.number)
                json_put_i64(object, row->key, *is.number);
            break;
        case SETTING_WORD:
            if (*is.word != *was.word)
                json_put_str(object, row->key, row->words[*is.word]);
            break;
        case SETTING_FLAG:
            if (*is.flag != *was.flag)
                json_put_bool(object, row->key, *is.flag);
            break;
        case SETTING_OTHER:
            break;
        }
    }
}

static cJSON *push_rule(cJSON *object, const char *key)
{
    cJSON *list = json_at_mut(object, key);

    return json_push_take(list ? list : json_put_array(object, key), json_object());
}

static void put_rules(cJSON *object, const struct faults *faults, int64_t now_ms)
{
    for (size_t i = 0; i < faults->call_count; i++)
        if (faults->calls[i].count.times > 0)
            put_rows(push_rule(object, "calls"), fault_call_settings, &faults->calls[i], &fault_call_plain);
    for (size_t i = 0; i < faults->partition_count; i++) {
        const struct fault_partition *rule = &faults->partitions[i];

        if (rule->count.times > 0 && rule->on != FAULT_NOW)
            put_rows(push_rule(object, "partitions"), fault_partition_settings, rule, &fault_partition_plain);
    }
    for (size_t i = 0; i < faults->hardware_count; i++) {
        struct fault_hardware rule = faults->hardware[i];

        rule.for_ms = faults_left_ms(faults, rule.for_ms, now_ms);
        if (rule.for_ms > 0)
            put_rows(push_rule(object, "hardware"), fault_hardware_settings, &rule, &fault_hardware_plain);
    }
}

void faults_print(const struct faults *faults, int64_t now_ms, struct str *out)
{
    AUTO(json) cJSON *object = json_object();
    AUTO(mem) char *text = NULL;
    struct faults left = *faults;
    struct fault_quirks none = {0};
    cJSON *quirks;

    left.stall_ms = faults_left_ms(faults, faults->stall_ms, now_ms);
    put_rows(object, faults_settings, &left, &faults_plain);
    quirks = json_put_object(object, "quirks");
    put_rows(quirks, fault_quirk_settings, &faults->quirks, &none);
    if (!quirks->child)
        json_drop(object, "quirks");
    put_rules(object, faults, now_ms);
    text = json_print_pretty(object);
    str_adds(out, text);
    str_adds(out, "\n");
}
