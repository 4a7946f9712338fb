#include "vipu/server/config/config_clusters.h"

#include <arpa/inet.h>

#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/text/suggest.h"

#define FIRST_ADDRESS "10.1.5.10"

struct agent {
    const char *name;
    size_t cluster, domain;
    uint32_t machine;
};

struct reader {
    struct settings_reader *settings;
    struct vipu_clusters *clusters;
    struct map agents;     /* by name */
    struct map addresses;  /* the same, by IPUoF address */
    size_t domain_count;   /* of all clusters */
    bool is_bow;           /* the cluster that is being read has Bow-2000 machines */
    uint32_t next_agent;   /* number of the next agent without a configured name */
    uint32_t next_address; /* of the next machine, host order */
};

struct cluster_text {
    unsigned topology, gateway, machines;
    uint32_t domains;
    char *address;
};

static const char *const topologies[] = {"torus", "mesh", NULL};
static const char *const machine_types[] = {"M2000", "Bow-2000", NULL};
static const char *const gateways[] = {"unlooped", "looped", "switched", NULL};

const struct setting config_cluster_settings[] = {
    SETTING("id", SETTING_OTHER, "name of the cluster and of its allocation that includes all agents"),
    SETTING("topology", AS_WORD(struct cluster_text, topology, topologies),
            "IPU-Links within a domain: torus (with loop cables) or mesh", .fallback = "torus"),
    SETTING("cluster-topology", AS_WORD(struct cluster_text, gateway, gateways),
            "gateway links between domains: unlooped, looped or switched", .fallback = "unlooped"),
    SETTING("ipulink-domains", AS_NUMBER(struct cluster_text, domains, 1, CONFIG_MAX_DOMAINS),
            "number of IPU-Link domains, of up to 16 agents (64 IPUs) each", .fallback = "1"),
    SETTING("agents", SETTING_OTHER,
            "number of agents, or a list of their names; 4 IPUs each, divided evenly over the domains",
            .fallback = "16 per domain"),
    SETTING("machines", AS_WORD(struct cluster_text, machines, machine_types),
            "type of the IPU-Machines: M2000, or Bow-2000 with a faster clock", .fallback = "M2000"),
    SETTING("ipuof-address", AS_TEXT(struct cluster_text, address),
            "IPv4 address of the first machine on the RDMA network; the others follow in order (default: "
            "10.1.5.10, then after the previous cluster's last)"),
    SETTING("allocations", SETTING_OTHER, "list of allocations in addition to the whole cluster"),
    {0},
};

const struct setting config_allocation_settings[] = {
    SETTING("id", SETTING_OTHER, "name of the allocation"),
    SETTING("agents", SETTING_OTHER, "list of the cluster's agents in the allocation"),
    {0},
};

static void read_address(struct reader *r, const cJSON *object, const char *text)
{
    struct in_addr address;

    if (!text)
        return;
    if (inet_pton(AF_INET, text, &address) != 1)
        settings_add_error(r->settings, json_at(object, "ipuof-address"),
                           "ipuof-address must be the IPv4 address of the cluster's first machine");
    else
        r->next_address = ntohl(address.s_addr);
}

static char *next_address(struct reader *r)
{
    struct in_addr address = {.s_addr = htonl(r->next_address++)};
    char text[INET_ADDRSTRLEN];

    return mem_strdup(inet_ntop(AF_INET, &address, text, sizeof(text)));
}

static void note_agent(struct reader *r, const cJSON *node, const struct vipu_cluster_domain *domain,
                       struct agent at)
{
    const struct vipu_machine *machine = &domain->machines[at.machine];
    const struct agent *other = map_get(&r->addresses, machine->ipuof_ip);
    struct agent *agent = mem_dup(&at, sizeof(at));

    agent->name = machine->name;
    map_set(&r->agents, machine->name, agent);
    if (r->next_address == 0)
        settings_add_error(r->settings, node, "the IPUoF addresses of the agents exceed 255.255.255.254");
    if (other)
        settings_add_error(r->settings, node, "agent \"%s\" has the same IPUoF address %s as agent \"%s\"",
                           machine->name, machine->ipuof_ip, other->name);
    else
        map_set(&r->addresses, machine->ipuof_ip, agent);
}

/* `node` is the node to report; name NULL means a generated one. */
static void add_agent(struct reader *r, const cJSON *node, size_t cluster, size_t domain, const char *name)
{
    AUTO(mem) char *ours = name ? NULL : mem_printf("ag%u", r->next_agent++);
    struct vipu_cluster_domain *place = &r->clusters->items[cluster].domains[domain];
    const struct agent *other;

    name = name ? name : ours;
    if (!settings_is_name(name))
        settings_add_error(r->settings, node,
                           "an agent name must be 1 to 63 letters, digits, '.', '_' or '-'");
    else if ((other = map_get(&r->agents, name)))
        settings_add_error(r->settings, node, "duplicate agent \"%s\", already in cluster \"%s\"", name,
                           r->clusters->items[other->cluster].id);
    else {
        place->machines[place->machine_count] =
            (struct vipu_machine){mem_strdup(name), next_address(r), r->is_bow};
        note_agent(r, node, place, (struct agent){NULL, cluster, domain, place->machine_count});
        place->machine_count++;
    }
}

/* 0 after a mistake; *ret_item is the first name, or NULL for generated names. */
static uint32_t count_agents(struct reader *r, const cJSON *object, uint32_t domains, const cJSON **ret_item)
{
    const cJSON *node = json_at(object, "agents");
    const int64_t most = (int64_t)domains * VIPU_DOMAIN_AGENTS;
    int64_t count = most;

    if (cJSON_IsArray(node)) {
        count = cJSON_GetArraySize(node);
        *ret_item = node->child;
    } else if (node) {
        count = json_i64(object, "agents", -1);
        if (count < 1 || count > most) {
            settings_add_error(r->settings, node, "agents must be a number from 1 to %lld", (long long)most);
            return 0;
        }
    }
    if (count > 0 && count % domains == 0 && count / domains <= VIPU_DOMAIN_AGENTS)
        return (uint32_t)count;
    settings_add_error(r->settings, node ? node : object,
                       "%lld agents cannot be divided evenly into %u IPU-Link domains of 1 to %u agents",
                       (long long)count, domains, VIPU_DOMAIN_AGENTS);
    return 0;
}

static void read_agents(struct reader *r, const cJSON *object, size_t cluster)
{
    uint32_t domains = (uint32_t)r->clusters->items[cluster].domain_count;
    const cJSON *item = NULL;
    uint32_t count = count_agents(r, object, domains, &item);

    for (uint32_t i = 0; i < count; i++) {
        const char *name = item ? (cJSON_IsString(item) ? item->valuestring : "") : NULL;

        add_agent(r, item ? item : object, cluster, i / (count / domains), name);
        item = item ? item->next : NULL;
    }
}

static struct vipu_allocation *add_allocation(struct reader *r, const cJSON *node,
                                              struct vipu_cluster *cluster, const char *id)
{
    const struct vipu_cluster *other;
    struct vipu_allocation *allocation;

    if (vipu_clusters_allocation(r->clusters, id, &other)) {
        settings_add_error(r->settings, node,
                           "duplicate allocation \"%s\" (each cluster is also an allocation)", id);
        return NULL;
    }
    cluster->allocations =
        mem_grow(cluster->allocations, cluster->allocation_count + 1, sizeof(*cluster->allocations));
    allocation = &cluster->allocations[cluster->allocation_count++];
    *allocation =
        (struct vipu_allocation){mem_strdup(id), mem_alloc(cluster->domain_count * sizeof(uint64_t))};
    return allocation;
}

static void add_unknown_agent(struct reader *r, const cJSON *node, const struct vipu_cluster *cluster)
{
    const char *name = cJSON_IsString(node) ? node->valuestring : "";
    struct suggest suggest = suggest_init(name);
    const char *meant;

    for (size_t d = 0; d < cluster->domain_count; d++)
        for (uint32_t m = 0; m < cluster->domains[d].machine_count; m++)
            suggest_candidate(&suggest, cluster->domains[d].machines[m].name);
    meant = suggest_best(&suggest);
    settings_add_error(r->settings, node, "cluster \"%s\" has no agent \"%.63s\"%s%s%s", cluster->id, name,
                       meant ? "; did you mean \"" : "", meant ? meant : "", meant ? "\"?" : "");
}

/* allocation NULL: only to find mistakes. */
static void read_member(struct reader *r, const cJSON *node, size_t cluster,
                        struct vipu_allocation *allocation)
{
    const struct agent *agent = cJSON_IsString(node) ? map_get(&r->agents, node->valuestring) : NULL;
    uint64_t ipus = agent ? (uint64_t)0xf << (agent->machine * VIPU_AGENT_IPUS) : 0;

    if (!agent || agent->cluster != cluster)
        add_unknown_agent(r, node, &r->clusters->items[cluster]);
    else if (allocation && allocation->usable[agent->domain] & ipus)
        settings_add_error(r->settings, node, "duplicate agent \"%s\" in this list", agent->name);
    else if (allocation)
        allocation->usable[agent->domain] |= ipus;
}

static void read_allocation(struct reader *r, const cJSON *object, size_t cluster)
{
    const char *id;
    const cJSON *agents;
    struct vipu_allocation *allocation;

    if (!settings_read(r->settings, object, config_allocation_settings, NULL))
        return;
    id = settings_id(r->settings, object, "an allocation");
    agents = settings_list(r->settings, object, "agents");
    allocation = id ? add_allocation(r, object, &r->clusters->items[cluster], id) : NULL;
    if (!agents || !agents->child)
        settings_add_error(r->settings, object, "agents is required for an allocation");
    JSON_EACH (item, agents) {
        read_member(r, item, cluster, allocation);
    }
}

static void read_allocations(struct reader *r, const cJSON *object, size_t index)
{
    struct vipu_cluster *cluster = &r->clusters->items[index];
    struct vipu_allocation *whole = add_allocation(r, object, cluster, cluster->id);

    for (size_t d = 0; whole && d < cluster->domain_count; d++)
        whole->usable[d] = vipu_domain_ipus(&cluster->domains[d]);
    JSON_EACH (item, settings_list(r->settings, object, "allocations")) {
        read_allocation(r, item, index);
    }
}

static void fill_cluster(struct reader *r, const cJSON *object, const struct cluster_text *text,
                         const char *id)
{
    struct vipu_clusters *clusters = r->clusters;
    struct vipu_cluster *cluster;

    clusters->items = mem_grow(clusters->items, clusters->count + 1, sizeof(*clusters->items));
    cluster = &clusters->items[clusters->count++];
    *cluster = (struct vipu_cluster){
        .id = mem_strdup(id),
        .torus = text->topology == 0,
        .looped = text->gateway == 1,
        .switched = text->gateway == 2,
        .domains = mem_alloc(text->domains * sizeof(*cluster->domains)),
        .domain_count = text->domains,
    };
    r->is_bow = text->machines == 1;
    read_address(r, object, text->address);
    read_agents(r, object, clusters->count - 1);
    read_allocations(r, object, clusters->count - 1);
}

static void read_cluster(struct reader *r, const cJSON *object)
{
    struct cluster_text text = {0};
    const char *id;

    settings_defaults(config_cluster_settings, &text);
    if (!settings_read(r->settings, object, config_cluster_settings, &text))
        return;
    id = settings_id(r->settings, object, "a cluster");
    r->domain_count += text.domains;
    if (id && vipu_clusters_find(r->clusters, id))
        settings_add_error(r->settings, object, "duplicate cluster \"%s\"", id);
    else if (r->domain_count > CONFIG_MAX_DOMAINS)
        settings_add_error(r->settings, object, "too many IPU-Link domains, at most %u are allowed",
                           CONFIG_MAX_DOMAINS);
    else if (id)
        fill_cluster(r, object, &text, id);
    settings_release(config_cluster_settings, &text);
}

void config_read_clusters(struct settings_reader *settings, struct vipu_clusters *ret)
{
    struct reader r = {.settings = settings, .clusters = ret, .next_agent = 1};
    const cJSON *root = settings->doc.root, *list = settings_list(settings, root, "clusters");
    struct in_addr first;
    void *agent;

    (void)inet_pton(AF_INET, FIRST_ADDRESS, &first);
    r.next_address = ntohl(first.s_addr);
    if (!json_at(root, "clusters") || (list && !list->child))
        settings_add_error(settings, list ? list : root, "clusters must be a list of at least one cluster");
    JSON_EACH (item, list) {
        read_cluster(&r, item);
    }
    for (size_t i = 0; map_next(&r.agents, &i, NULL, &agent);)
        mem_free(agent);
    map_release(&r.agents);
    map_release(&r.addresses);
}
