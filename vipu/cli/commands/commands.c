#include "vipu/cli/commands/commands.h"

#include "base/core/mem.h"
#include "base/doc/json.h"
#include "vipu/cli/commands/inventory.h"
#include "vipu/cli/commands/ipuof_dir.h"
#include "vipu/cli/commands/partition_index.h"
#include "vipu/cli/output/show.h"

static bool list_partitions(struct command_context *c, struct err *err)
{
    AUTO(vipu_partitions) struct vipu_partitions list = {0};

    if (!vipu_sync_partitions(c->client, c->options->allocation, &list, err))
        return false;
    if (c->options->showjson)
        show_partitions_json(&list, c->out);
    else
        show_partitions(&list, (enum show_layout)c->options->table_layout, c->out);
    return true;
}

static bool list_ipu_attrs(struct command_context *c, struct err *err)
{
    AUTO(vipu_agents) struct vipu_agents agents = {0};

    if (!vipu_sync_agents(c->client, &agents, err))
        return false;
    show_agents(&agents, c->options->showjson, c->out);
    return true;
}

static void succeed(struct command_context *c, const char *verb)
{
    cJSON *object;

    if (c->options->showjson) {
        object = json_object();
        json_put_str(object, "partition", c->id);
        json_put_str(object, "operation", verb);
        json_put_str(object, "result", "success");
        show_document_take(object, c->out);
        return;
    }
    str_addf(c->out, "%s partition (%s): success.\n", verb, c->id);
}

static bool fail(struct command_context *c, const char *verb, struct err *err)
{
    if (*vipu_sync_reason(c->client))
        str_addf(c->failure, "%s partition (%s): failed: %s", verb, c->id, vipu_sync_reason(c->client));
    return err_wrap(err, "%s partition (%s): failed", verb, c->id);
}

/* For commands that change something: after some failures it is unknown whether the change was made. */
static bool fail_change(struct command_context *c, const char *verb, struct err *err)
{
    bool is_unknown = vipu_sync_is_unknown(c->client);

    (void)fail(c, verb, err);
    if (!is_unknown)
        return false;
    if (!c->failure->len)
        str_adds(c->failure, err->msg);
    str_addf(c->failure, "; it may still take effect: check with `vipu get partition %s`", c->id);
    return false;
}

/* Programs on this host find the partition by these files; a failure to write them does not undo the
 * partition. */
static void write_conf(struct command_context *c)
{
    AUTO(vipu_ipuof_config) struct vipu_ipuof_config config = {0};
    struct err err;

    if (!c->home)
        strv_push(c->remarks, "HOME is not set; no IPUoF files written");
    else if (!vipu_sync_ipuof(c->client, c->id, -1, &config, &err) ||
             !ipuof_dir_write(c->home, c->id, &config, &err))
        strv_pushf(c->remarks, "cannot write the IPUoF files: %s", err.msg);
}

/* The meaning of --index depends on the cluster. */
static bool choose_place(struct command_context *c, struct vipu_requirements *r, struct vipu_ipu **ret_ipus,
                         struct err *err)
{
    AUTO(vipu_cluster_list) struct vipu_cluster_list clusters = {0};
    const struct vipu_cluster_entry *cluster;

    if (c->index < 0)
        return true;
    return inventory_cluster_of(c->client, r->cluster_id, r->allocation_id, &clusters, &cluster, err) &&
           partition_index_resolve(cluster, (uint32_t)c->index, r, ret_ipus, err);
}

static bool create(struct command_context *c, struct err *err)
{
    struct vipu_requirements wanted = *c->requirements;
    AUTO(mem) struct vipu_ipu *ipus = NULL;

    if (!choose_place(c, &wanted, &ipus, err) || !vipu_sync_create(c->client, &wanted, err) ||
        !vipu_sync_wait_active(c->client, c->id, err))
        return fail_change(c, "create", err);
    succeed(c, "create");
    write_conf(c);
    return true;
}

static bool remove_partition(struct command_context *c, struct err *err)
{
    struct err local;

    if (!vipu_sync_remove(c->client, c->id, c->options->force, err) ||
        !vipu_sync_wait_gone(c->client, c->id, err))
        return fail_change(c, "remove", err);
    succeed(c, "remove");
    if (c->home && !ipuof_dir_remove(c->home, c->id, &local))
        strv_pushf(c->remarks, "cannot remove the IPUoF files: %s", local.msg);
    return true;
}

static bool reset(struct command_context *c, struct err *err)
{
    if (!vipu_sync_reset(c->client, c->id, c->options->relocatable, err) ||
        !vipu_sync_wait_active(c->client, c->id, err))
        return fail_change(c, "reset", err);
    succeed(c, "reset");
    return true;
}

static bool get_configs(struct command_context *c, struct err *err)
{
    AUTO(vipu_ipuof_config) struct vipu_ipuof_config config = {0};

    if (!vipu_sync_ipuof(c->client, c->id, c->gcd, &config, err))
        return fail(c, "get", err);
    if (c->options->showjson && c->gcd < 0) {
        show_ipuof_json(&config, c->out);
        return true;
    }
    for (size_t i = 0; i < config.gcd_count; i++) {
        /* One GCD's output is the file itself; with several, each has a heading. */
        if (c->gcd < 0)
            str_addf(c->out, "IPUoF configuration of GCD %zu:\n", i);
        show_ipuof_gcd(&config.gcds[i], c->out);
    }
    return true;
}

static bool get_partition(struct command_context *c, struct err *err)
{
    AUTO(vipu_partitions) struct vipu_partitions list = {0};
    AUTO(vipu_status) struct vipu_status status = {0};
    const struct vipu_partition *partition;

    if (c->options->ipuof_configs || c->gcd >= 0)
        return get_configs(c, err);
    if (!vipu_sync_status(c->client, c->id, &status, err) ||
        !vipu_sync_partitions(c->client, NULL, &list, err))
        return fail(c, "get", err);
    partition = vipu_partitions_find(&list, c->id);
    if (!partition) {
        err_set(err, ERR_NOT_FOUND, "not found on the controller");
        return fail(c, "get", err);
    }
    show_partition(partition, &status, c->options->showjson, c->out);
    return true;
}

bool command_server_version(struct command_context *c, struct err *err)
{
    AUTO(mem) char *version = NULL;
    cJSON *object;

    if (!vipu_sync_version(c->client, &version, err))
        return false;
    if (!c->options->showjson) {
        str_addf(c->out, "version: %s\nhost: %s\n", version, vipu_sync_target(c->client));
        return true;
    }
    object = json_object();
    json_put_str(object, "version", version);
    json_put_str(object, "host", vipu_sync_target(c->client));
    show_document_take(object, c->out);
    return true;
}

bool command_run(enum command_name name, struct command_context *c, struct err *err)
{
    static bool (*const run[])(struct command_context * c, struct err * err) = {
        [COMMAND_LIST_PARTITIONS] = list_partitions,
        [COMMAND_LIST_ALLOCATIONS] = inventory_list_allocations,
        [COMMAND_LIST_CLUSTERS] = inventory_list_clusters,
        [COMMAND_LIST_IPU_ATTRS] = list_ipu_attrs,
        [COMMAND_CREATE_PARTITION] = create,
        [COMMAND_GET_PARTITION] = get_partition,
        [COMMAND_GET_ALLOCATION] = inventory_get_allocation,
        [COMMAND_GET_CLUSTER] = inventory_get_cluster,
        [COMMAND_RESET_PARTITION] = reset,
        [COMMAND_REMOVE_PARTITION] = remove_partition,
        /* These need no controller: main prints them. */
        [COMMAND_COMPLETION] = NULL,
        [COMMAND_HELP] = NULL,
    };

    if (!run[name])
        return err_set(err, ERR_INTERNAL, "command %d has no code", (int)name);
    return run[name](c, err);
}
