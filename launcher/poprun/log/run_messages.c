#include "launcher/poprun/log/run_messages.h"

#include "base/core/mem.h"
#include "launcher/poprun/plan/target_options.h"
#include "launcher/poprun/options/shell_words.h"

enum { NAMES_MAX = 16 };

void run_message_hosts(const struct run_log *log, const struct strv *used, const struct strv *unused)
{
    size_t all = used->count + unused->count;
    AUTO(str) struct str names = {0};

    if (!unused->count)
        return;
    for (size_t i = 0; i < unused->count && i < NAMES_MAX; i++)
        (void)str_addf(&names, "%s%s", i ? ", " : "", unused->items[i]);
    run_log_write(log, RUN_LOG_WARNING,
                  "%zu of %zu hosts run%s; not used: %s%s (--num-instances=%zu uses all)", used->count, all,
                  used->count == 1 ? "s the only instance" : " an instance each", str_text(&names),
                  unused->count > NAMES_MAX ? ", ..." : "", all);
}

void run_message_ilds(const struct run_log *log, const struct poprun_options *options)
{
    uint32_t ilds = partition_ilds(options);

    if (ilds < options->num_ilds)
        run_log_write(log, RUN_LOG_WARNING,
                      "--num-ilds=%u: %u instance%s at most %u IPU-Link domain%s, one for each instance; "
                      "requesting %u",
                      options->num_ilds, options->num_instances,
                      options->num_instances == 1 ? " spans" : "s span", ilds, ilds == 1 ? "" : "s", ilds);
}

void run_message_address(const struct run_log *log, const char *host, uint32_t port)
{
    run_log_write(log, RUN_LOG_INFO, "V-IPU server address picked up from 'vipu': %s:%u", host, port);
}

void run_message_only_partition(const struct run_log *log, const char *id)
{
    run_log_write(log, RUN_LOG_INFO, "Using V-IPU partition %s as it is the only one available", id);
}

void run_message_connecting(const struct run_log *log, const char *host, uint32_t port)
{
    run_log_write(log, RUN_LOG_DEBUG, "Connecting to %s:%u", host, port);
}

void run_message_status(const struct run_log *log, const char *id)
{
    run_log_write(log, RUN_LOG_DEBUG, "Status for partition %s: OK (error 0)", id);
}

void run_message_exists(const struct run_log *log, const struct vipu_partition *partition)
{
    run_log_write(log, RUN_LOG_INFO, "Partition %s already exists and is in state: PS_%s", partition->id,
                  vipu_ready_state_name(partition->ready_state));
}

void run_message_partition(const struct run_log *log, const struct vipu_partition *partition)
{
    if (partition->reconfigurable)
        run_log_write(log, RUN_LOG_DEBUG, "The reconfigurable partition %s is OK", partition->id);
    else
        run_log_write(log, RUN_LOG_DEBUG, "Done polling, final state of %s: PS_%s", partition->id,
                      vipu_ready_state_name(partition->ready_state));
}

static void tell_parent(const struct run_log *log, const struct parent *p)
{
    run_log_write(log, RUN_LOG_DEBUG, "Found %u devices with %u IPUs", p->count, p->size);
    run_log_write(log, RUN_LOG_DEBUG, "Attached to device %u", p->first_id);
    if (p->children > 1)
        run_log_write(log, RUN_LOG_DEBUG, "Found %u children (expected %u) of device %u with %u IPUs each",
                      p->children, p->children, p->first_id, p->child_size);
    run_log_write(log, RUN_LOG_INFO, "Preparing parent device %u", p->first_id);
    run_log_write(log, RUN_LOG_DEBUG,
                  "Device %u ipuLinkDomainSize=%u, ipuLinkConfiguration=Default, ipuLinkTopology=Mesh, "
                  "gatewayMode=true, instanceSize=%u",
                  p->first_id, p->domain_size, p->child_size);
}

bool run_message_targets(const struct run_log *log, const char *environment,
                         const struct vipu_partition *partition, const struct parent *parent,
                         uint32_t num_instances, char **ret, struct err *err)
{
    AUTO(mem) char *own = NULL;
    AUTO(mem) char *of_partition = partition ? partition_target_options(partition, num_instances) : NULL;
    AUTO(mem) char *of_parent = parent ? parent_target_options(parent) : NULL;
    AUTO(mem) char *merged = NULL;

    if (!target_options_read(environment, &own, err) ||
        !target_options_merge(environment, of_partition, of_parent, &merged, err))
        return false;
    run_log_write(log, RUN_LOG_DEBUG, "Target options from environment: %s", own);
    if (partition)
        run_log_write(log, RUN_LOG_DEBUG, "Target options from V-IPU partition: %s", of_partition);
    if (parent) {
        tell_parent(log, parent);
        run_log_write(log, RUN_LOG_DEBUG, "Target options from Poplar device: %s", of_parent);
    }
    run_log_write(log, RUN_LOG_DEBUG, "Using target options: %s", merged);
    *ret = TAKE(merged);
    return true;
}

void run_message_network(const struct run_log *log, const struct topology *topology, const char *network)
{
    if (topology->hosts->count == 0)
        run_log_write(log, RUN_LOG_DEBUG, "No hosts specified; ignoring host-subnet setting");
    run_log_write(log, RUN_LOG_DEBUG, "Default network/RNIC for host communication: %s",
                  network ? network : "None");
}

void run_message_command(const struct run_log *log, const struct plan *plan)
{
    AUTO(str) struct str text = {0};

    shell_words_join_quoted(&plan->argv, &text);
    for (size_t i = 0; i < plan->variables.count; i++)
        run_log_write(log, RUN_LOG_TRACE, "Variable for mpirun: %s", plan->variables.items[i]);
    for (size_t i = 0; i < plan->app_lines.count; i++)
        run_log_write(log, RUN_LOG_TRACE, "Application file of mpirun: %s", plan->app_lines.items[i]);
    run_log_write(log, RUN_LOG_INFO, "Running command: %s", str_text(&text));
}

void run_message_waiting(const struct run_log *log, int64_t pid)
{
    run_log_write(log, RUN_LOG_INFO, "Waiting for mpirun (PID %lld)", (long long)pid);
}

void run_message_end(const struct run_log *log, int64_t pid, int status)
{
    run_log_write(log, RUN_LOG_INFO, "mpirun (PID %lld) terminated with exit code %d", (long long)pid,
                  status);
}
