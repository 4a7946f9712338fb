#include "launcher/poprun/plan/plan.h"

#include <string.h>

#include "base/core/mem.h"
#include "launcher/poprun/plan/app_file.h"
#include "launcher/poprun/plan/rsh_agent.h"
#include "launcher/poprun/options/shell_words.h"
#include "launcher/poprun/host/wrapper_env.h"
#include "popdist/contract.h"

/* Open MPI runs at most so many agents at a time by default. */
#define AGENTS_DEFAULT ((size_t)128)

/* More instances than CPUs are allowed. And a daemon starts instances in its main thread: in another thread
 * it may miss the end of a short one before it knows its process id, and wait for it forever (PRRTE's pull
 * request 2713). Each version ignores the other's variables. */
static const char *const always[][2] = {
    {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
    {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
    {"OMPI_MCA_odls_base_max_threads", "0"},
    {"PRTE_MCA_odls_base_max_threads", "0"},
};

/* What one instance's part of the command is built from. */
struct part {
    const struct plan_input *in;
    uint32_t instance;
    struct strv local; /* the user's option for it */
    struct strv *argv;
};

static void add_word(struct strv *argv, const char *word)
{
    strv_push(argv, word);
}

static void set_text(const struct part *part, const char *name, const char *value)
{
    add_word(part->argv, "-x");
    strv_pushf(part->argv, "%s=%s", name, value);
}

static void set_count(const struct part *part, const char *name, uint32_t value)
{
    add_word(part->argv, "-x");
    strv_pushf(part->argv, "%s=%u", name, value);
}

/* The user's own options for it win, whatever mpirun does with two. */
static void forward(const struct part *part, const char *name)
{
    if (shell_words_exported(&part->local, name))
        return;
    add_word(part->argv, "-x");
    add_word(part->argv, name);
}

static uint32_t host_of(const struct part *part)
{
    return part->instance / topology_instances_per_host(part->in->topology);
}

char *plan_host_cache(const char *cache_dir, uint32_t host)
{
    return mem_printf("%s-%u", cache_dir, host);
}

static void add_cache(const struct part *part)
{
    AUTO(mem) char *own = NULL;

    if (!part->in->cache_dir)
        return;
    own = part->in->cache_per_host ? plan_host_cache(part->in->cache_dir, host_of(part)) : NULL;
    set_text(part, POPDIST_ENV_EXECUTABLE_CACHE_PATH, own ? own : part->in->cache_dir);
}

static void add_replicas(const struct part *part)
{
    const struct topology *t = part->in->topology;
    uint32_t local = topology_local_replicas(t), per_host = topology_instances_per_host(t);
    const struct parent *parent = part->in->parent;

    set_count(part, POPDIST_ENV_NUM_TOTAL_REPLICAS, t->num_replicas);
    set_count(part, POPDIST_ENV_NUM_IPUS_PER_REPLICA, t->ipus_per_replica);
    set_count(part, POPDIST_ENV_NUM_LOCAL_REPLICAS, local);
    set_text(part, POPDIST_ENV_UNIFORM_REPLICAS_PER_INSTANCE, "1");
    if (parent)
        set_count(part, POPDIST_ENV_NODE_DEVICE_ID, parent->first_id + host_of(part));
    add_cache(part);
    if (part->in->options->autoreport_dir)
        set_text(part, POPDIST_ENV_AUTOREPORT_DIRECTORY, part->in->options->autoreport_dir);
    set_count(part, POPDIST_ENV_REPLICA_INDEX_OFFSET, part->instance * local);
    set_count(part, POPDIST_ENV_LOCAL_INSTANCE_INDEX, part->instance % per_host);
}

static void add_partition(const struct part *part)
{
    const struct partition_view *view = part->in->view;

    if (!view)
        return;
    set_text(part, "IPUOF_VIPU_API_HOST", view->api_host);
    set_count(part, "IPUOF_VIPU_API_PORT", view->api_port);
    set_text(part, "IPUOF_VIPU_API_PARTITION_ID", view->partition->id);
    set_count(part, "IPUOF_VIPU_API_TIMEOUT", view->api_timeout_s);
    if (!view->partition->reconfigurable)
        set_count(part, "IPUOF_VIPU_API_GCD_ID", part->instance);
}

static void add_environment(const struct part *part)
{
    const char *level = part->in->env("IPUOF_LOG_LEVEL");

    set_text(part, "IPUOF_LOG_LEVEL", level && *level ? level : "WARN");
    forward(part, "PATH");
    forward(part, "LD_LIBRARY_PATH");
    forward(part, "PYTHONPATH");
    if (part->in->target_options)
        set_text(part, POPLAR_ENV_TARGET_OPTIONS, part->in->target_options);
    if (part->in->env("POPLAR_ENGINE_OPTIONS"))
        forward(part, "POPLAR_ENGINE_OPTIONS");
}

static bool output_is_suppressed(const struct part *part)
{
    return poprun_is_given(part->in->options, "only-output-from-instance") &&
           part->in->options->only_output_from_instance != part->instance;
}

/* What a surrounding run, or a login, may have set there, and this run does not set. */
static void add_dropped(const struct part *part)
{
    const struct plan_input *in = part->in;
    const struct {
        const char *name;
        bool is_set;
    } optional[] = {{POPDIST_ENV_NODE_DEVICE_ID, in->parent != NULL},
                    {POPDIST_ENV_EXECUTABLE_CACHE_PATH, in->cache_dir != NULL},
                    {POPDIST_ENV_AUTOREPORT_DIRECTORY, in->options->autoreport_dir != NULL}};
    AUTO(str) struct str names = {0};

    for (size_t i = 0; i < COUNT_OF(optional); i++)
        if (!optional[i].is_set && !shell_words_exported(&part->local, optional[i].name))
            (void)str_addf(&names, "%s%s", names.len ? "," : "", optional[i].name);
    if (names.len)
        set_text(part, WRAPPER_ENV_DROP, str_text(&names));
}

static void add_host_care(const struct part *part)
{
    add_dropped(part);
    set_text(part, WRAPPER_ENV_WATCH, "1");
    if (part->in->cache_per_host)
        set_text(part, WRAPPER_ENV_CACHE, "1");
}

static void add_wrapper(const struct part *part)
{
    const struct topology *t = part->in->topology;
    bool spread = poprun_placement(part->in->options) == PLACEMENT_SPREAD_NUMA && t->num_instances > 1;
    bool chosen = poprun_is_given(part->in->options, "only-output-from-instance"),
         is_suppressed = output_is_suppressed(part), has_hosts = t->hosts->count > 0;

    if (!spread && !is_suppressed && !has_hosts && !part->in->program_is_missing && !part->in->has_app_file)
        return;
    if (!spread)
        set_text(part, WRAPPER_ENV_UNBOUND, "1");
    /* Version 5 applies the first instance's settings to those that have none. */
    if (chosen)
        set_text(part, WRAPPER_ENV_QUIET, is_suppressed ? "1" : "0");
    if (has_hosts)
        add_host_care(part);
    add_word(part->argv, WRAPPER_PROGRAM);
}

static bool split_local(struct part *part, struct err *err)
{
    const struct poprun_options *options = part->in->options;
    AUTO(mem) char *prefix = mem_printf("%u:", part->instance);

    for (size_t i = 0; i < options->mpi_local_args.count; i++)
        if (!shell_words_split(options->mpi_local_args.items[i], &part->local, err))
            return false;
    for (size_t i = 0; i < options->instance_mpi_local_args.count; i++) {
        const char *text = options->instance_mpi_local_args.items[i];

        if (str_has_prefix(text, prefix) && !shell_words_split(text + strlen(prefix), &part->local, err))
            return false;
    }
    return true;
}

static void add_words(struct strv *argv, const struct strv *words)
{
    for (size_t i = 0; i < words->count; i++)
        add_word(argv, words->items[i]);
}

static void add_instance(const struct part *part)
{
    add_word(part->argv, "-np");
    add_word(part->argv, "1");
    if (part->in->topology->hosts->count) {
        add_word(part->argv, "--host");
        add_word(part->argv, topology_host(part->in->topology, part->instance));
    }
    add_replicas(part);
    add_partition(part);
    add_environment(part);
    add_words(part->argv, &part->local);
    add_wrapper(part);
    add_words(part->argv, part->in->program);
}

/* The user's options are in argv already. */
static void place(const struct plan_input *in, struct strv *argv, const char *name, const char *value)
{
    if (in->dialect->rejects_twice && shell_words_have_option(argv, name))
        return;
    strv_pushf(argv, "--%s", name);
    add_word(argv, value);
}

static void add_placement(const struct plan_input *in, struct strv *argv)
{
    const char *maps[] = {[PLACEMENT_SCATTER_SOCKET] = "socket",
                          [PLACEMENT_SCATTER_NUMA] = "numa",
                          [PLACEMENT_CLOSE] = in->dialect->by_core};
    enum placement placement = poprun_placement(in->options);
    AUTO(mem) char *map = NULL;

    if (placement == PLACEMENT_DISABLED)
        return;
    if (placement == PLACEMENT_SPREAD_NUMA) {
        place(in, argv, "bind-to", "none");
        return;
    }
    map = mem_printf("%s%s", maps[placement], in->dialect->place_more);
    place(in, argv, "map-by", map);
    place(in, argv, "bind-to", "core:overload-allowed");
}

/* Set by options or variables of mpirun: then a detected network is not added. */
static bool names_interfaces(const struct plan_input *in)
{
    static const char *const variables[] = {"OMPI_MCA_oob_tcp_if_include", "OMPI_MCA_oob_tcp_if_exclude",
                                            "OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_btl_tcp_if_exclude",
                                            "PRTE_MCA_prte_if_include",    "PRTE_MCA_prte_if_exclude"};
    const struct strv *words = &in->options->mpi_global_args;

    for (size_t i = 0; i < words->count; i++)
        if (strstr(words->items[i], "_if_include") || strstr(words->items[i], "_if_exclude"))
            return true;
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        if (in->env(variables[i]))
            return true;
    return false;
}

static void add_network(const struct plan_input *in, struct strv *argv)
{
    const char *const names[] = {in->dialect->control_subnet, "btl_tcp_if_include"};

    if (!in->network || !in->topology->hosts->count || (!in->options->host_subnet && names_interfaces(in)))
        return;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        add_word(argv, "--mca");
        add_word(argv, names[i]);
        add_word(argv, in->network);
    }
}

static bool add_head(const struct plan_input *in, struct strv *argv, struct err *err)
{
    const struct strv *global = &in->options->mpi_global_args;

    add_word(argv, in->mpirun);
    for (size_t i = 0; i < global->count; i++)
        if (!shell_words_split(global->items[i], argv, err))
            return false;
    add_placement(in, argv);
    add_word(argv, "--tag-output");
    if (in->options->allow_run_as_root)
        add_word(argv, "--allow-run-as-root");
    add_network(in, argv);
    return true;
}

/* The user's settings are kept. */
static void add_default(const struct plan_input *in, struct strv *variables, const char *name,
                        const char *value)
{
    if (!in->env(name))
        strv_pushf(variables, "%s=%s", name, value);
}

/* Users may set the agent by another version's name. */
static void add_agent(const struct plan_input *in, struct strv *variables)
{
    const char *given = rsh_agent_variable(in->env), *agent = given;

    if (in->topology->hosts->count == 0)
        agent = given ? NULL : in->dialect->local_agent;
    if (agent)
        add_default(in, variables, in->dialect->agent, agent);
}

/* mpirun would wait forever for a daemon that left its session and ended before it had connected. One that
 * stays keeps its agent, of which mpirun runs a limited number: with more hosts it would hang. */
static void add_sessions(const struct plan_input *in, struct strv *variables)
{
    static const char *const attached[] = {"OMPI_MCA_orte_leave_session_attached",
                                           "PRTE_MCA_prte_leave_session_attached"};
    static const char *const agents[] = {"OMPI_MCA_plm_rsh_num_concurrent",
                                         "PRTE_MCA_plm_ssh_num_concurrent"};
    size_t hosts = in->topology->hosts->count;
    AUTO(mem) char *at_a_time = mem_printf("%zu", hosts > AGENTS_DEFAULT ? hosts : AGENTS_DEFAULT);

    for (size_t i = 0; hosts && i < COUNT_OF(attached); i++)
        add_default(in, variables, attached[i], "1");
    for (size_t i = 0; hosts && i < COUNT_OF(agents); i++)
        add_default(in, variables, agents[i], at_a_time);
}

/* Version 4.1 shortens the list of hosts to ranges of numbers, which rejects an underscore (open-mpi/ompi,
 * orte/mca/regx/fwd/regx_fwd.c); its daemons then end with a segmentation fault. Its component "naive" passes
 * names on as they are. */
static void add_host_names(const struct plan_input *in, struct strv *variables)
{
    const struct strv *hosts = in->topology->hosts;

    for (size_t i = 0; i < hosts->count; i++) {
        if (!strchr(hosts->items[i], '_'))
            continue;
        add_default(in, variables, "OMPI_MCA_regx", "naive");
        return;
    }
}

/* mpirun warns if a variable that it has to forward does not exist; an empty one has the same meaning. */
static void add_variables(const struct plan_input *in, struct strv *variables)
{
    static const char *const forwarded[] = {"LD_LIBRARY_PATH", "PYTHONPATH"};

    for (size_t i = 0; i < COUNT_OF(always); i++)
        add_default(in, variables, always[i][0], always[i][1]);
    for (size_t i = 0; i < COUNT_OF(forwarded); i++)
        add_default(in, variables, forwarded[i], "");
    add_agent(in, variables);
    add_sessions(in, variables);
    add_host_names(in, variables);
}

static bool make_part(const struct plan_input *in, uint32_t instance, struct strv *argv, struct err *err)
{
    struct part part = {.in = in, .instance = instance, .argv = argv};
    bool good = split_local(&part, err);

    if (good)
        add_instance(&part);
    strv_release(&part.local);
    return good;
}

static bool join_parts(const struct plan_input *in, const struct strv *parts, struct plan *plan,
                       struct err *err)
{
    uint32_t count = in->topology->num_instances;

    if (in->has_app_file)
        return app_file_make(parts, count, &plan->app_lines, &plan->variables, err);
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            add_word(&plan->argv, ":");
        add_words(&plan->argv, &parts[i]);
    }
    return true;
}

bool plan_make(const struct plan_input *in, struct plan *ret, struct err *err)
{
    uint32_t count = in->topology->num_instances;
    struct strv *parts = mem_alloc(count * sizeof(*parts));
    AUTO(plan) struct plan plan = {0};
    bool good = add_head(in, &plan.argv, err);

    for (uint32_t i = 0; good && i < count; i++)
        good = make_part(in, i, &parts[i], err);
    good = good && join_parts(in, parts, &plan, err);
    for (uint32_t i = 0; i < count; i++)
        strv_release(&parts[i]);
    mem_free(parts);
    if (!good)
        return false;
    add_variables(in, &plan.variables);
    *ret = plan;
    plan = (struct plan){0};
    return true;
}

void plan_print(const struct plan *plan, struct str *out)
{
    static const char *const names[] = {WRAPPER_ENV_SHARED "=", WRAPPER_ENV_PROGRAM "="};

    shell_words_join_quoted(&plan->argv, out);
    if (!plan->app_lines.count) {
        (void)str_addc(out, '\n');
        return;
    }
    (void)str_adds(out, " '--app' 'FILE'\nFILE:\n");
    for (size_t i = 0; i < plan->app_lines.count; i++)
        (void)str_addf(out, "%s\n", plan->app_lines.items[i]);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        for (size_t at = 0; at < plan->variables.count; at++)
            if (str_has_prefix(plan->variables.items[at], names[i]))
                (void)str_addf(out, "%.*s:\n%s", (int)strlen(names[i]) - 1, names[i],
                               plan->variables.items[at] + strlen(names[i]));
}

/* Each string, and a pointer to it. */
static size_t count_bytes(const struct strv *strings)
{
    size_t bytes = 0;

    for (size_t i = 0; i < strings->count; i++)
        bytes += strlen(strings->items[i]) + 1 + sizeof(char *);
    return bytes;
}

size_t plan_command_bytes(const struct plan *plan)
{
    return count_bytes(&plan->argv) + count_bytes(&plan->variables);
}

bool plan_needs_app_file(const struct strv *program)
{
    return strv_has(program, ":");
}

void plan_release(struct plan *plan)
{
    strv_release(&plan->argv);
    strv_release(&plan->app_lines);
    strv_release(&plan->variables);
}

bool plan_excludes_variable(const char *entry)
{
    return str_has_prefix(entry, "POPDIST_") || str_has_prefix(entry, "IPUOF_CONFIG_PATH=");
}
