#include "launcher/poprun/run/acquire.h"

#include "base/core/mem.h"
#include "launcher/env/shape.h"
#include "launcher/poprun/plan/partition.h"
#include "launcher/poprun/log/run_messages.h"
#include "vipu/model/shape.h"

/* The state of an acquisition. */
struct step {
    const struct acquisition *a;
    struct vipu_sync_client *client;
    char *id; /* of the requested partition */
};

static bool is_in_job(const struct acquisition *a)
{
    return a->env(SHAPE_ENV_IPUS) != NULL;
}

static const char *asked_id(const struct acquisition *a)
{
    const char *given = a->options->vipu_partition, *job = a->env("IPUOF_VIPU_API_PARTITION_ID");

    if (given && *given)
        return given;
    return job && *job ? job : NULL;
}

/* ST_POD_NATIVE_DEFAULT is V-IPU's own name for pod-native-default. */
static bool read_sync_type(const char *text, enum vipu_sync_type *ret, struct err *err)
{
    AUTO(mem) char *name = mem_strdup(str_has_prefix(text, "ST_") ? text + 3 : text);

    for (char *at = name; *at; at++)
        *at = *at == '_' ? '-' : *at;
    if (vipu_sync_type_parse(name, ret))
        return true;
    return err_set(err, ERR_INVALID,
                   "--sync-type: expected one of ST_C2_COMPATIBLE, ST_POD_NATIVE_DEFAULT, "
                   "ST_POD_NATIVE_REPLICATED_PIPELINE, got \"%.80s\"",
                   text);
}

static bool require(const struct step *step, struct vipu_requirements *ret, struct err *err)
{
    const struct poprun_options *options = step->a->options;
    AUTO(strv) struct strv problems = {0};
    struct vipu_requirements asked = {
        .id = step->id,
        .size = options->num_replicas * options->ipus_per_replica,
        .cluster_id = options->vipu_cluster,
        .allocation_id = options->vipu_allocation,
        .num_ilds = partition_ilds(options),
        .num_gcds = options->num_instances,
        .num_replicas = options->num_instances,
    };

    if ((uint64_t)options->num_replicas * options->ipus_per_replica > UINT32_MAX)
        return err_set(err, ERR_INVALID, "%u replicas of %u IPUs exceed the largest partition",
                       options->num_replicas, options->ipus_per_replica);
    if (options->sync_type && !read_sync_type(options->sync_type, &asked.sync_type, err))
        return false;
    if (asked.num_ilds == 0)
        asked.num_ilds = vipu_fewest_ilds(asked.size);
    *ret = vipu_requirements_with_defaults(&asked);
    if (!vipu_requirements_check(ret, &problems))
        return err_set(err, ERR_INVALID, "partition %s cannot be created: %s", step->id, problems.items[0]);
    return true;
}

/* What a partition with these requirements would be like. */
static struct vipu_partition describe(const struct vipu_requirements *r)
{
    return (struct vipu_partition){.id = mem_strdup(r->id),
                                   .size = r->size,
                                   .num_gcds = r->num_gcds,
                                   .num_replicas = r->num_replicas,
                                   .num_ilds = r->num_ilds,
                                   .ready_state = VIPU_READY_ACTIVE,
                                   .sync_type = r->sync_type,
                                   .routing = vipu_routing_default(r->size / r->num_ilds, false)};
}

static bool create_once(const struct step *step, const struct vipu_requirements *requirements,
                        struct err *err)
{
    struct cleanup *left = step->a->left;

    run_log_write(step->a->run_log, RUN_LOG_DEBUG,
                  "Creating partition %s with %u IPUs, %u GCDs, %u replicas, %u ILDs", step->id,
                  requirements->size, requirements->num_gcds, requirements->num_replicas,
                  requirements->num_ilds);
    cleanup_note(left->partition, sizeof(left->partition), step->id);
    if (vipu_sync_create(step->client, requirements, err))
        return vipu_sync_wait_active(step->client, step->id, err);
    /* Nothing was created, and a partition of that name belongs to another user. */
    if (err->kind != ERR_TIMEOUT && err->kind != ERR_IO && err->kind != ERR_INTERNAL)
        left->partition[0] = '\0';
    return false;
}

static bool remove_whole(const struct step *step, struct err *err)
{
    run_log_write(step->a->run_log, RUN_LOG_DEBUG, "Removing partition %s", step->id);
    return vipu_sync_remove_and_wait(step->client, step->id, err);
}

static bool find(const struct step *step, struct vipu_partition *ret, struct err *err)
{
    AUTO(vipu_partitions) struct vipu_partitions list = {0};
    const struct vipu_partition *found;

    if (!vipu_sync_partitions(step->client, NULL, &list, err))
        return false;
    found = vipu_partitions_find(&list, step->id);
    if (!found)
        return err_set(err, ERR_NOT_FOUND, "partition %s not found", step->id);
    *ret = vipu_partition_copy(found);
    return true;
}

/* The same IPUs may be free over another number of domains. */
static bool reject(const struct step *step, struct err *err)
{
    struct err cause = *err;
    bool may_fit = cause.kind == ERR_BUSY && step->a->options->num_ilds;

    return err_set(err, cause.kind, "partition %s cannot be created: %s%s", step->id, cause.msg,
                   may_fit ? "; without --num-ilds as few as possible are used" : "");
}

static bool create(const struct step *step, struct vipu_partition *ret, struct err *err)
{
    struct vipu_requirements requirements;

    if (!require(step, &requirements, err))
        return false;
    if (step->a->dry) {
        *ret = describe(&requirements);
        return true;
    }
    for (uint32_t attempt = 1;; attempt++) {
        if (create_once(step, &requirements, err))
            return find(step, ret, err);
        if (!step->a->left->partition[0] || attempt >= step->a->options->vipu_partition_attempts)
            return reject(step, err);
        run_log_write(step->a->run_log, RUN_LOG_WARNING, "Attempt %u of %u: %s", attempt,
                      step->a->options->vipu_partition_attempts, err->msg);
        if (!remove_whole(step, err))
            return false;
    }
}

static bool replace(const struct step *step, struct vipu_partition *ret, struct err *err)
{
    if (!step->a->dry && !remove_whole(step, err))
        return err_wrap(err, "partition %s does not match and cannot be replaced", step->id);
    return create(step, ret, err);
}

/* An existing partition becomes active, after a reset if one is due. */
static bool ready(const struct step *step, const struct vipu_partition *partition, struct err *err)
{
    const struct poprun_options *options = step->a->options;
    bool reset =
        poprun_is_given(options, "reset-partition") ? options->reset_partition : !partition->reconfigurable;

    if (step->a->dry)
        return true;
    for (uint32_t attempt = 1;; attempt++) {
        if ((!reset || vipu_sync_reset(step->client, step->id, false, err)) &&
            vipu_sync_wait_active(step->client, step->id, err))
            return true;
        if (attempt >= options->vipu_partition_attempts)
            return err_wrap(err, "partition %s did not become active%s", step->id,
                            reset ? "" : " (--reset-partition=yes may help)");
        run_log_write(step->a->run_log, RUN_LOG_WARNING, "Attempt %u of %u: %s", attempt,
                      options->vipu_partition_attempts, err->msg);
    }
}

static bool use(const struct step *step, const struct vipu_partition *found, struct vipu_partition *ret,
                struct err *err)
{
    const struct acquisition *a = step->a;

    run_message_status(a->run_log, step->id);
    run_message_exists(a->run_log, found);
    if (!partition_check(found, a->options, a->hosts, is_in_job(a), err))
        return a->options->update_partition && replace(step, ret, err);
    if (!ready(step, found, err))
        return false;
    *ret = vipu_partition_copy(found);
    ret->ready_state = VIPU_READY_ACTIVE;
    return true;
}

/* The requested one, or the only one. */
static bool choose(struct step *step, const struct vipu_partitions *list, struct err *err)
{
    const char *asked = asked_id(step->a);

    if (!asked && list->count != 1)
        return err_set(err, ERR_NOT_FOUND,
                       "%s visible at the V-IPU controller; choose one with --vipu-partition%s",
                       list->count ? "several partitions are" : "no partition is",
                       list->count ? "; see vipu list partitions" : " and --update-partition=yes");
    if (!asked)
        run_message_only_partition(step->a->run_log, list->items[0].id);
    step->id = mem_strdup(asked ? asked : list->items[0].id);
    return true;
}

static bool acquire(struct step *step, struct vipu_partition *ret, struct err *err)
{
    const struct acquisition *a = step->a;
    const struct vipu_endpoint *endpoint = &a->access->endpoint;
    AUTO(vipu_partitions) struct vipu_partitions list = {0};
    const struct vipu_partition *found;

    if (!vipu_sync_partitions(step->client, NULL, &list, err) || !choose(step, &list, err))
        return false;
    run_message_connecting(a->run_log, endpoint->host, endpoint->port);
    found = vipu_partitions_find(&list, step->id);
    if (found)
        return use(step, found, ret, err);
    if (a->options->update_partition)
        return create(step, ret, err);
    return err_set(
        err, ERR_NOT_FOUND,
        "partition %s not found at %s:%u; create it with --update-partition=yes, or see vipu list partitions",
        step->id, endpoint->host, endpoint->port);
}

bool acquire_partition(const struct acquisition *a, struct vipu_partition *ret, struct err *err)
{
    struct step step = {.a = a};
    bool good;

    if (!a->access->is_given)
        run_message_address(a->run_log, a->access->endpoint.host, a->access->endpoint.port);
    step.client = vipu_sync_new(&a->access->endpoint, "poprun/" IPU_OPERATOR_VERSION,
                                a->options->vipu_server_timeout_s);
    good = acquire(&step, ret, err);
    if (good)
        run_message_partition(a->run_log, ret);
    vipu_sync_free(step.client);
    mem_free(step.id);
    return good;
}
