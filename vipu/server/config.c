#include "vipu/server/config.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/doc/yaml.h"

#define MAX_DURATION_MS 600000u
#define NAME_MAX_BYTES 63u
#define FIRST_ADDRESS "10.1.5.10"

struct reader {
    struct yaml_doc doc;
    const char *name;
    struct strv *problems;
    struct server_config config;
    uint32_t next_agent;   /* number of the next agent that gets its name from us */
    uint32_t next_address; /* of the next machine, host order */
};

__attribute__((format(printf, 3, 4))) static void complain(struct reader *r, const cJSON *node,
                                                           const char *fmt, ...)
{
    char text[200];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    strv_pushf(r->problems, "%s: line %u: %s", r->name, yaml_line(&r->doc, node), text);
}

static void check_keys(struct reader *r, const cJSON *object, const char *const *known)
{
    JSON_EACH (member, object) {
        size_t k = 0;

        while (known[k] && !str_eq(known[k], json_key(member)))
            k++;
        if (!known[k])
            complain(r, member, "\"%.40s\" is no setting here", json_key(member));
    }
}

/* The list at key, or NULL when there is none. */
static const cJSON *list_at(const cJSON *object, const char *key)
{
    const cJSON *node = json_at(object, key);

    return cJSON_IsArray(node) ? node : NULL;
}

static void take_text(struct reader *r, const cJSON *object, const char *key, char **slot)
{
    const cJSON *node = json_at(object, key);

    if (!node)
        return;
    if (!cJSON_IsString(node) || !*node->valuestring)
        complain(r, node, "%s must be a text", key);
    else
        mem_set_str(slot, node->valuestring);
}

static void take_number(struct reader *r, const cJSON *object, const char *key, uint32_t min, uint32_t max,
                        uint32_t *slot)
{
    const cJSON *node = json_at(object, key);
    int64_t value = json_i64(object, key, -1);

    if (!node)
        return;
    if (value < min || value > max)
        complain(r, node, "%s must be a whole number from %u to %u", key, min, max);
    else
        *slot = (uint32_t)value;
}

/* The index of the word among `words` (the last one is NULL); `fallback` when the key is absent. */
static size_t take_word(struct reader *r, const cJSON *object, const char *key, const char *const *words,
                        size_t fallback)
{
    const cJSON *node = json_at(object, key);
    AUTO(str) struct str list = {0};

    if (!node)
        return fallback;
    for (size_t i = 0; words[i]; i++) {
        if (str_eq(json_str(object, key, ""), words[i]))
            return i;
        str_addf(&list, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    }
    complain(r, node, "%s must be %s", key, str_text(&list));
    return fallback;
}

static bool is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t len = strlen(text);

    return len > 0 && len <= NAME_MAX_BYTES && strspn(text, allowed) == len;
}

static const char *take_id(struct reader *r, const cJSON *object, const char *what)
{
    const cJSON *node = json_at(object, "id");

    if (cJSON_IsString(node) && is_name(node->valuestring))
        return node->valuestring;
    complain(r, node ? node : object, "%s needs an id of letters, digits, '.', '_' and '-', up to %u bytes",
             what, NAME_MAX_BYTES);
    return NULL;
}

static bool find_agent(const struct vipu_clusters *clusters, size_t cluster, const char *name,
                       size_t *ret_domain, uint32_t *ret_machine)
{
    const struct vipu_cluster *c = &clusters->items[cluster];

    for (size_t d = 0; d < c->domain_count; d++) {
        for (uint32_t m = 0; m < c->domains[d].machine_count; m++) {
            if (str_eq(c->domains[d].machines[m].name, name)) {
                *ret_domain = d;
                *ret_machine = m;
                return true;
            }
        }
    }
    return false;
}

static bool is_agent_known(const struct vipu_clusters *clusters, const char *name)
{
    size_t domain;
    uint32_t machine;

    for (size_t c = 0; c < clusters->count; c++)
        if (find_agent(clusters, c, name, &domain, &machine))
            return true;
    return false;
}

static char *next_address(struct reader *r)
{
    struct in_addr address = {.s_addr = htonl(r->next_address++)};
    char text[INET_ADDRSTRLEN];

    return mem_strdup(inet_ntop(AF_INET, &address, text, sizeof(text)));
}

/* `node` is where to complain; name NULL means one of ours. */
static void add_agent(struct reader *r, const cJSON *node, struct vipu_cluster_domain *domain,
                      const char *name)
{
    AUTO(mem) char *ours = name ? NULL : mem_printf("ag%u", r->next_agent++);
    struct vipu_machine *machine = &domain->machines[domain->machine_count];

    name = name ? name : ours;
    if (!is_name(name))
        complain(r, node, "an agent's name has letters, digits, '.', '_' and '-', up to %u bytes",
                 NAME_MAX_BYTES);
    else if (is_agent_known(&r->config.clusters, name))
        complain(r, node, "agent \"%s\" is there already", name);
    else {
        *machine = (struct vipu_machine){mem_strdup(name), next_address(r)};
        domain->machine_count++;
    }
}

static void take_agents(struct reader *r, const cJSON *object, struct vipu_cluster *cluster)
{
    const cJSON *node = json_at(object, "agents");
    uint32_t domains = (uint32_t)cluster->domain_count, count = domains * VIPU_DOMAIN_AGENTS;
    const cJSON *item = NULL;

    if (cJSON_IsArray(node)) {
        count = (uint32_t)cJSON_GetArraySize(node);
        item = node->child;
    } else {
        take_number(r, object, "agents", 1, domains * VIPU_DOMAIN_AGENTS, &count);
    }
    if (count == 0 || count % domains != 0 || count / domains > VIPU_DOMAIN_AGENTS) {
        complain(r, node ? node : object,
                 "%u agents do not divide into %u IPU-Link domains of 1 to %u agents", count, domains,
                 VIPU_DOMAIN_AGENTS);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const char *name = item ? (cJSON_IsString(item) ? item->valuestring : "") : NULL;

        add_agent(r, item ? item : object, &cluster->domains[i / (count / domains)], name);
        item = item ? item->next : NULL;
    }
}

static void take_address(struct reader *r, const cJSON *object)
{
    const cJSON *node = json_at(object, "ipuof-address");
    struct in_addr address;

    if (!node)
        return;
    if (!cJSON_IsString(node) || inet_pton(AF_INET, node->valuestring, &address) != 1)
        complain(r, node, "ipuof-address must be the IPv4 address of the cluster's first machine");
    else
        r->next_address = ntohl(address.s_addr);
}

static struct vipu_allocation *add_allocation(struct reader *r, const cJSON *node,
                                              struct vipu_cluster *cluster, const char *id)
{
    const struct vipu_cluster *other;
    struct vipu_allocation *allocation;

    if (vipu_clusters_allocation(&r->config.clusters, id, &other)) {
        complain(r, node, "there is an allocation \"%s\" already (each cluster is one, too)", id);
        return NULL;
    }
    cluster->allocations =
        mem_grow(cluster->allocations, cluster->allocation_count + 1, sizeof(*cluster->allocations));
    allocation = &cluster->allocations[cluster->allocation_count++];
    *allocation =
        (struct vipu_allocation){mem_strdup(id), mem_alloc(cluster->domain_count * sizeof(uint64_t))};
    return allocation;
}

static void take_allocation(struct reader *r, const cJSON *object, size_t index)
{
    static const char *const keys[] = {"id", "agents", NULL};
    struct vipu_cluster *cluster = &r->config.clusters.items[index];
    const char *id = take_id(r, object, "an allocation");
    const cJSON *agents = list_at(object, "agents"), *node = json_at(object, "agents");
    struct vipu_allocation *allocation = id ? add_allocation(r, object, cluster, id) : NULL;

    check_keys(r, object, keys);
    if (!agents || !agents->child)
        complain(r, node ? node : object, "an allocation needs a list of agents");
    JSON_EACH (item, agents) {
        size_t domain;
        uint32_t machine;

        if (!cJSON_IsString(item) ||
            !find_agent(&r->config.clusters, index, item->valuestring, &domain, &machine))
            complain(r, item, "cluster \"%s\" has no agent of this name", cluster->id);
        else if (allocation)
            allocation->usable[domain] |= (uint64_t)0xf << (machine * VIPU_AGENT_IPUS);
    }
}

static void take_allocations(struct reader *r, const cJSON *object, size_t index)
{
    struct vipu_cluster *cluster = &r->config.clusters.items[index];
    struct vipu_allocation *whole = add_allocation(r, object, cluster, cluster->id);
    const cJSON *list = list_at(object, "allocations"), *node = json_at(object, "allocations");

    for (size_t d = 0; whole && d < cluster->domain_count; d++)
        whole->usable[d] = vipu_domain_ipus(&cluster->domains[d]);
    if (node && !list)
        complain(r, node, "allocations must be a list");
    JSON_EACH (item, list) {
        take_allocation(r, item, index);
    }
}

static void take_cluster(struct reader *r, const cJSON *object)
{
    static const char *const keys[] = {"id",     "topology",      "cluster-topology", "ipulink-domains",
                                       "agents", "ipuof-address", "allocations",      NULL};
    static const char *const topologies[] = {"torus", "mesh", NULL};
    static const char *const gateways[] = {"unlooped", "looped", "switched", NULL};
    struct vipu_clusters *clusters = &r->config.clusters;
    const char *id = take_id(r, object, "a cluster");
    struct vipu_cluster *cluster;
    uint32_t domains = 1;
    size_t gateway;

    check_keys(r, object, keys);
    if (!id)
        return;
    if (vipu_clusters_find(clusters, id)) {
        complain(r, object, "there is a cluster \"%s\" already", id);
        return;
    }
    clusters->items = mem_grow(clusters->items, clusters->count + 1, sizeof(*clusters->items));
    cluster = &clusters->items[clusters->count++];
    *cluster = (struct vipu_cluster){
        .id = mem_strdup(id),
    };
    cluster->torus = take_word(r, object, "topology", topologies, 0) == 0;
    gateway = take_word(r, object, "cluster-topology", gateways, 0);
    cluster->looped = gateway == 1;
    cluster->switched = gateway == 2;
    take_number(r, object, "ipulink-domains", 1, CONFIG_MAX_DOMAINS, &domains);
    cluster->domains = mem_alloc(domains * sizeof(*cluster->domains));
    cluster->domain_count = domains;
    take_address(r, object);
    take_agents(r, object, cluster);
    take_allocations(r, object, clusters->count - 1);
}

static void take_clusters(struct reader *r)
{
    const cJSON *list = list_at(r->doc.root, "clusters"), *node = json_at(r->doc.root, "clusters");

    if (!list || !list->child)
        complain(r, node ? node : r->doc.root, "clusters must be a list of at least one cluster");
    JSON_EACH (item, list) {
        take_cluster(r, item);
    }
}

static void take_all(struct reader *r)
{
    static const char *const keys[] = {"listen",   "admin-listen",       "storage",  "create-ms", "remove-ms",
                                       "reset-ms", "auto-reset-retries", "clusters", NULL};
    struct server_config *c = &r->config;

    check_keys(r, r->doc.root, keys);
    take_text(r, r->doc.root, "listen", &c->listen);
    take_text(r, r->doc.root, "admin-listen", &c->admin_listen);
    take_text(r, r->doc.root, "storage", &c->storage);
    take_number(r, r->doc.root, "create-ms", 0, MAX_DURATION_MS, &c->times.create_ms);
    take_number(r, r->doc.root, "remove-ms", 0, MAX_DURATION_MS, &c->times.remove_ms);
    take_number(r, r->doc.root, "reset-ms", 0, MAX_DURATION_MS, &c->times.reset_ms);
    take_number(r, r->doc.root, "auto-reset-retries", 0, 1000, &c->max_auto_reset_retries);
    take_clusters(r);
}

bool server_config_parse(struct slice text, const char *name, struct server_config *ret,
                         struct strv *problems)
{
    struct reader r = {.name = name, .problems = problems, .next_agent = 1};
    size_t before = problems->count;
    struct in_addr first;
    struct err err;

    if (!yaml_parse(text, name, &r.doc, &err)) {
        strv_push(problems, err.msg);
        return false;
    }
    inet_pton(AF_INET, FIRST_ADDRESS, &first);
    r.next_address = ntohl(first.s_addr);
    r.config = (struct server_config){
        .listen = mem_strdup(":8090"),
        .storage = mem_strdup("vipu-server.db"),
        .times = {.create_ms = 200, .remove_ms = 100, .reset_ms = 150},
        .max_auto_reset_retries = 3,
    };
    if (cJSON_IsObject(r.doc.root))
        take_all(&r);
    else
        strv_pushf(problems, "%s: line 1: the file must hold settings, such as \"clusters:\"", name);
    yaml_release(&r.doc);
    if (problems->count == before) {
        *ret = r.config;
        return true;
    }
    server_config_release(&r.config);
    return false;
}

struct server_config server_config_default(void)
{
    struct server_config config = {0};
    struct strv problems = {0};

    server_config_parse(SLICE_LIT("clusters: [{id: cl1}]"), "default", &config, &problems);
    return config;
}

void server_config_release(struct server_config *config)
{
    mem_free(config->listen);
    mem_free(config->admin_listen);
    mem_free(config->storage);
    vipu_clusters_release(&config->clusters);
    *config = (struct server_config){0};
}
