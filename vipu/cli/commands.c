#include "vipu/cli/commands.h"

#include "base/core/mem.h"
#include "vipu/cli/confdir.h"
#include "vipu/cli/show.h"

static bool list_partitions(struct command_context *c, struct err *err)
{
    AUTO(vipu_partitions) struct vipu_partitions list = {0};

    if (!session_partitions(c->session, c->options->allocation, &list, err))
        return false;
    show_partitions(&list, c->options->showjson, c->out);
    return true;
}

static bool list_ipu_attrs(struct command_context *c, struct err *err)
{
    AUTO(vipu_agents) struct vipu_agents agents = {0};

    if (!session_agents(c->session, &agents, err))
        return false;
    show_agents(&agents, c->options->showjson, c->out);
    return true;
}

static void succeed(struct command_context *c, const char *verb)
{
    str_addf(c->out, "%s partition (%s): success.\n", verb, c->id);
}

static bool fail(struct command_context *c, const char *verb, struct err *err)
{
    if (*session_reason(c->session))
        str_addf(c->failure, "%s partition (%s): failed: %s", verb, c->id, session_reason(c->session));
    return err_wrap(err, "%s partition (%s): failed", verb, c->id);
}

/* Programs on this host find the partition by these files; that they cannot be written does not undo the
 * partition. */
static void write_conf(struct command_context *c)
{
    AUTO(vipu_ipuof_config) struct vipu_ipuof_config config = {0};
    struct err err;

    if (!c->home)
        return;
    if (!session_ipuof(c->session, c->id, -1, &config, &err) || !confdir_write(c->home, c->id, &config, &err))
        str_addf(c->out, "The IPUoF files were not written: %s\n", err.msg);
}

static bool create(struct command_context *c, struct err *err)
{
    AUTO(mem) struct vipu_ipu *ipus = NULL;
    struct vipu_requirements requirements;

    if (!options_requirements(c->options, c->id, &requirements, &ipus, c->problems))
        return false;
    if (!session_create(c->session, &requirements, err) || !session_wait_active(c->session, c->id, err))
        return fail(c, "create", err);
    succeed(c, "create");
    write_conf(c);
    return true;
}

static bool remove_partition(struct command_context *c, struct err *err)
{
    struct err local;

    if (!session_remove(c->session, c->id, c->options->force, err) ||
        !session_wait_gone(c->session, c->id, err))
        return fail(c, "remove", err);
    succeed(c, "remove");
    if (c->home && !confdir_remove(c->home, c->id, &local))
        str_addf(c->out, "The IPUoF files were not removed: %s\n", local.msg);
    return true;
}

static bool reset(struct command_context *c, struct err *err)
{
    if (!session_reset(c->session, c->id, c->options->relocatable, err) ||
        !session_wait_active(c->session, c->id, err))
        return fail(c, "reset", err);
    succeed(c, "reset");
    return true;
}

static bool get_configs(struct command_context *c, int64_t gcd, struct err *err)
{
    AUTO(vipu_ipuof_config) struct vipu_ipuof_config config = {0};

    if (!session_ipuof(c->session, c->id, gcd, &config, err))
        return fail(c, "get", err);
    for (size_t i = 0; i < config.gcd_count; i++) {
        /* One GCD's output is a file as it stands; of all of them each has a heading. */
        if (gcd < 0)
            str_addf(c->out, "IPUoF configuration of GCD %zu:\n", i);
        show_ipuof_gcd(&config.gcds[i], c->out);
    }
    return true;
}

static bool get(struct command_context *c, struct err *err)
{
    AUTO(vipu_partitions) struct vipu_partitions list = {0};
    AUTO(vipu_status) struct vipu_status status = {0};
    const struct vipu_partition *partition;
    int64_t gcd;

    if (!options_gcd(c->options, &gcd, c->problems))
        return false;
    if (c->options->ipuof_configs || gcd >= 0)
        return get_configs(c, gcd, err);
    if (!session_status(c->session, c->id, &status, err) || !session_partitions(c->session, NULL, &list, err))
        return fail(c, "get", err);
    partition = vipu_partitions_find(&list, c->id);
    if (!partition) {
        err_set(err, ERR_NOT_FOUND, "the controller does not list it");
        return fail(c, "get", err);
    }
    show_partition(partition, &status, c->options->showjson, c->out);
    return true;
}

bool command_server_version(struct command_context *c, struct err *err)
{
    AUTO(mem) char *version = NULL;

    if (!session_version(c->session, &version, err))
        return false;
    str_addf(c->out, "version: %s\nhost: %s\n", version, session_target(c->session));
    return true;
}

static const struct command table[] = {
    {"list", "partition", false, list_partitions},
    {"list", "ipu-attr", false, list_ipu_attrs},
    {"create", "partition", true, create},
    {"get", "partition", true, get},
    {"reset", "partition", true, reset},
    {"remove", "partition", true, remove_partition},
    {"delete", "partition", true, remove_partition}, /* the older command line's word */
};

/* Kinds may be in the plural. */
static bool is_kind(const char *word, const char *kind)
{
    AUTO(mem) char *plural = mem_printf("%ss", kind);

    return str_eq(word, kind) || str_eq(word, plural);
}

const struct command *command_find(const struct strv *words, struct strv *problems)
{
    for (size_t i = 0; words->count >= 2 && i < COUNT_OF(table); i++) {
        const struct command *command = &table[i];
        size_t wanted = command->needs_id ? 3 : 2;

        if (!str_eq(words->items[0], command->verb) || !is_kind(words->items[1], command->kind))
            continue;
        if (words->count == wanted)
            return command;
        if (words->count < wanted)
            strv_pushf(problems, "%s %s needs the partition's id", command->verb, command->kind);
        else
            strv_pushf(problems, "\"%s\" is one word too many", words->items[wanted]);
        return NULL;
    }
    strv_push(problems,
              words->count ? "there is no such command" : "what to do? For example: vipu list partitions");
    return NULL;
}
