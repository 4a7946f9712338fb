#include "vipu/server/controller/tenancy.h"

#include "vipu/model/shape.h"
#include "vipu/server/controller/blockers.h"

const struct controller_partition *tenancy_find(const struct controller *c, const struct user *user,
                                                const char *id, struct err *err)
{
    const struct controller_partition *entry = controller_find(c, id, err);

    if (!entry || user_may_use(user, &entry->partition))
        return entry;
    err_set(err, ERR_NOT_FOUND, "partition \"%s\" not found", id);
    return NULL;
}

bool tenancy_check_allocation(const struct controller *c, const struct user *user, const char *id,
                              struct err *err)
{
    const struct vipu_cluster *cluster;

    return (user_may(user, id) && vipu_clusters_allocation(c->clusters, id, &cluster)) ||
           err_set(err, ERR_NOT_FOUND, "allocation \"%s\" not found", id);
}

bool tenancy_check_owner(const struct user *user, struct err *err)
{
    return !user || !user->partition ||
           err_set(err, ERR_DENIED, "the key of partition \"%s\" cannot create or remove partitions",
                   user->partition);
}

static bool has_ipus_of(const struct controller_partition *entry, const struct vipu_cluster *cluster,
                        size_t domain, uint32_t machine)
{
    bool has = false;

    for (uint32_t i = 0; entry->cluster == cluster && i < entry->partition.size; i++)
        has = has || (entry->partition.ipus[i].domain_topology_id == domain &&
                      entry->partition.ipus[i].topology_id / VIPU_AGENT_IPUS == machine);
    return has;
}

bool tenancy_sees_agent(const struct controller *c, const struct user *user,
                        const struct vipu_cluster *cluster, size_t domain, uint32_t machine)
{
    const struct controller_partition *own;
    struct err err;
    bool is_seen = !user;

    if (user && user->partition)
        return (own = controller_find(c, user->partition, &err)) &&
               has_ipus_of(own, cluster, domain, machine);
    for (size_t a = 0; a < cluster->allocation_count && !is_seen; a++) {
        const struct vipu_allocation *allocation = &cluster->allocations[a];

        is_seen =
            user_may(user, allocation->id) && allocation->usable[domain] >> (machine * VIPU_AGENT_IPUS) & 1;
    }
    return is_seen;
}

static bool is_given(const char *text)
{
    return text && *text;
}

/* Whether the request leaves this allocation of the user open. */
static bool is_candidate(const struct controller *c, const struct vipu_requirements *given, const char *id)
{
    const struct vipu_cluster *cluster;

    if (!vipu_clusters_allocation(c->clusters, id, &cluster))
        return false;
    return (!is_given(given->allocation_id) || str_eq(given->allocation_id, id)) &&
           (!is_given(given->cluster_id) || str_eq(given->cluster_id, cluster->id));
}

/* With every other reason, as for a cluster that does not exist. */
static bool reject_place(const struct vipu_requirements *given, struct strv *problems, struct err *err)
{
    struct vipu_requirements r = vipu_requirements_with_defaults(given);

    (void)vipu_requirements_check(&r, problems);
    if (is_given(r.allocation_id))
        strv_pushf(problems, "allocation \"%s\" not found", r.allocation_id);
    else if (is_given(r.cluster_id))
        strv_pushf(problems, "cluster \"%s\" not found", r.cluster_id);
    else
        strv_push(problems, "no allocation available");
    return err_set(err, ERR_INVALID, "%s", problems->items[0]);
}

static bool create(struct controller *c, const struct user *user, const struct vipu_requirements *given,
                   int64_t now_ms, struct strv *problems, struct err *err)
{
    bool made = controller_create(c, given, now_ms, problems, err);

    if (!made && err->kind == ERR_BUSY)
        blockers_explain(c, user, given, err);
    return made;
}

bool tenancy_create(struct controller *c, const struct user *user, const struct vipu_requirements *given,
                    int64_t now_ms, struct strv *problems, struct err *err)
{
    struct vipu_requirements r = *given;
    struct err busy = {0};
    bool is_tried = false;

    if (!user)
        return create(c, NULL, given, now_ms, problems, err);
    for (size_t i = 0; i < user->allocations.count; i++) {
        r.allocation_id = user->allocations.items[i];
        if (!is_candidate(c, given, r.allocation_id))
            continue;
        strv_release(problems);
        if (create(c, user, &r, now_ms, problems, err))
            return true;
        if (err->kind != ERR_BUSY && err->kind != ERR_INVALID)
            return false;
        busy = err->kind == ERR_BUSY ? *err : busy;
        is_tried = true;
    }
    if (busy.kind == ERR_BUSY) {
        strv_release(problems);
        *err = busy;
    }
    return is_tried ? false : reject_place(given, problems, err);
}
