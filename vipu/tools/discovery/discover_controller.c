#include "vipu/tools/discovery/discover_controller.h"

#include "base/core/mem.h"
#include "vipu/client/sync_client.h"
#include "vipu/tools/discovery/name_list.h"

static bool is_given(const char *text)
{
    return text && *text;
}

static struct vipu_sync_client *connect_to(const struct partition_source *source,
                                           const struct discovery_options *options)
{
    const struct vipu_endpoint endpoint = {
        .host = is_given(source->host) ? source->host : SOURCE_DEFAULT_HOST,
        .port = source->port,
        .user_id = source->user_id,
        .access_key = source->access_key,
        .tls = source->tls,
        .ca_file = source->ca_file,
        .cert_file = source->cert_file,
        .key_file = source->key_file,
    };

    return vipu_sync_new(&endpoint, options->user_agent, source->timeout_s);
}

static void client_auto(struct vipu_sync_client **client)
{
    vipu_sync_free(*client);
}

/* The partition that the environment names, or the only one. */
static bool choose(const struct partition_source *source, struct vipu_sync_client *client,
                   const struct vipu_partitions *list, const char **ret, struct err *err)
{
    AUTO(strv) struct strv names = {0};
    AUTO(str) struct str text = {0};

    if (is_given(source->partition)) {
        *ret = source->partition;
        return true;
    }
    if (list->count == 1) {
        *ret = list->items[0].id;
        return true;
    }
    if (list->count == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "the controller at %s has no partition; create one with \"vipu create partition\"",
                       vipu_sync_target(client));
    for (size_t i = 0; i < list->count; i++)
        strv_push(&names, list->items[i].id);
    name_list_join(&names, &text);
    return err_set(err, ERR_INVALID,
                   "no partition selected: set IPUOF_VIPU_API_PARTITION_ID to one of those on %s: %s",
                   vipu_sync_target(client), str_text(&text));
}

/* Why the partition's devices cannot be used now; NULL if they can. The caller frees it. */
static char *trouble_of(const char *id, const struct vipu_status *status)
{
    AUTO(str) struct str text = {0};

    if (status->ready_state == VIPU_READY_ACTIVE && status->error_count == 0)
        return NULL;
    str_addf(&text, "partition %s is in state %s (%s)", id, vipu_ready_state_name(status->ready_state),
             vipu_operation_state_name(status->operation_state));
    for (size_t i = 0; i < status->error_count; i++)
        str_addf(&text, "%s%s", i ? "; " : ": ", status->errors[i]);
    if (status->ready_state == VIPU_READY_PENDING)
        str_adds(&text, "; wait until \"vipu list partitions\" shows it as ACTIVE");
    else
        str_addf(&text, "; try \"vipu reset partition %s\"", id);
    return str_take(&text);
}

static void add_troubled(struct discovery *ret, const char *id, const struct partition_source *source,
                         bool active, char *trouble_take)
{
    struct gcd_view view = {.partition = mem_strdup(id),
                            .gcd = active ? source->gcd : 0,
                            .active = active,
                            .trouble = trouble_take};

    discovery_add_take(ret, &view);
}

struct asking {
    const struct partition_source *source;
    struct vipu_sync_client *client;
    const struct vipu_partitions *list;
    const char *active; /* id of the active partition, or NULL */
};

/* gcd -1: the configuration has all of them; else it has that one. */
static void add_gcds(const struct asking *asking, const char *id, int64_t gcd,
                     struct vipu_ipuof_config *config, struct discovery *ret)
{
    for (size_t i = 0; i < config->gcd_count; i++) {
        struct gcd_view view = gcd_view_from_config(id, config, i);

        if (gcd >= 0)
            view.gcd = (uint32_t)gcd;
        view.active = str_eq(id, asking->active) && view.gcd == asking->source->gcd;
        discovery_add_take(ret, &view);
    }
}

static bool check_sizes(const struct discovery *found, struct err *err)
{
    for (size_t i = 0; i < found->count; i++)
        if (found->views[i].ipu_count > GCD_VIEW_MAX_IPUS)
            return err_set(err, ERR_IO,
                           "the controller reports %u IPUs for partition %s, at most %u are supported",
                           found->views[i].ipu_count, found->views[i].partition, GCD_VIEW_MAX_IPUS);
    return true;
}

/* A controller that rejects the configuration of a partition in error says why. */
static bool ask_config(const struct asking *asking, const char *id, int64_t gcd, struct discovery *ret,
                       struct err *err)
{
    AUTO(vipu_ipuof_config) struct vipu_ipuof_config config = {0};

    if (vipu_sync_ipuof(asking->client, id, gcd, &config, err)) {
        add_gcds(asking, id, gcd, &config, ret);
        return check_sizes(ret, err);
    }
    if (err->kind != ERR_CONFLICT)
        return err_wrap(err, "partition %s", id);
    add_troubled(ret, id, asking->source, str_eq(id, asking->active),
                 mem_printf("partition %s currently has no devices: %s; try \"vipu reset partition %s\"", id,
                            vipu_sync_reason(asking->client), id));
    return true;
}

static bool ask_partition(const struct asking *asking, const char *id, int64_t gcd, struct discovery *ret,
                          struct err *err)
{
    AUTO(vipu_status) struct vipu_status status = {0};
    char *trouble;

    if (!vipu_sync_status(asking->client, id, &status, err)) {
        if (err->kind != ERR_NOT_FOUND)
            return false;
        return err_set(
            err, ERR_NOT_FOUND,
            "the controller at %s has no partition \"%s\"; list them with \"vipu list partitions\"",
            vipu_sync_target(asking->client), id);
    }
    trouble = trouble_of(id, &status);
    if (!trouble)
        return ask_config(asking, id, gcd, ret, err);
    add_troubled(ret, id, asking->source, str_eq(id, asking->active), trouble);
    return true;
}

static bool ask_all(const struct asking *asking, struct discovery *ret, struct err *err)
{
    for (size_t i = 0; i < asking->list->count; i++) {
        /* One that is removed in between is skipped. */
        if (!ask_partition(asking, asking->list->items[i].id, -1, ret, err) && err->kind != ERR_NOT_FOUND)
            return false;
    }
    return true;
}

/* vipu-server sends this with the devices; other controllers may have it in their list only. */
static bool complete_from_list(const struct asking *asking, struct discovery *ret, struct err *err)
{
    AUTO(vipu_partitions) struct vipu_partitions list = {0};

    for (size_t i = 0; i < ret->count; i++) {
        const struct vipu_partition *partition;

        if (ret->views[i].num_replicas || ret->views[i].trouble)
            continue;
        if (!list.count && !vipu_sync_partitions(asking->client, NULL, &list, err))
            return false;
        partition = vipu_partitions_find(&list, ret->views[i].partition);
        if (partition)
            gcd_view_add_partition(&ret->views[i], partition);
    }
    return true;
}

static bool add_attributes(const struct asking *asking, struct discovery *ret, struct err *err)
{
    AUTO(ipu_index) struct ipu_index index = {0};

    if (!complete_from_list(asking, ret, err) || !vipu_sync_agents(asking->client, &ret->agents, err))
        return false;
    ipu_index_init(&index, &ret->agents);
    for (size_t i = 0; i < ret->count; i++)
        gcd_view_add_attributes(&ret->views[i], &index);
    return true;
}

bool discover_controller(const struct partition_source *source, const struct discovery_options *options,
                         struct discovery *ret, struct err *err)
{
    AUTO(client) struct vipu_sync_client *client = connect_to(source, options);
    AUTO(vipu_partitions) struct vipu_partitions list = {0};
    struct asking asking = {.source = source, .client = client, .list = &list};
    struct err none;
    bool ok;

    /* A controller may have very many partitions: the list is requested only where it is needed. */
    if ((options->all || !is_given(source->partition)) && !vipu_sync_partitions(client, NULL, &list, err))
        return false;
    if (!choose(source, client, &list, &asking.active, options->all ? &none : err) && !options->all)
        return false;
    ok = options->all ? ask_all(&asking, ret, err)
                      : ask_partition(&asking, asking.active, (int64_t)source->gcd, ret, err);
    return ok && (!options->attributes || add_attributes(&asking, ret, err));
}
