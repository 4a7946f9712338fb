#include "launcher/poprun/story.h"

#include "base/core/mem.h"
#include "launcher/poprun/targets.h"
#include "launcher/poprun/words.h"

void story_address(const struct journal *journal, const char *host, uint32_t port)
{
    journal_add(journal, JOURNAL_INFO, "V-IPU server address picked up from 'vipu': %s:%u", host, port);
}

void story_only_partition(const struct journal *journal, const char *id)
{
    journal_add(journal, JOURNAL_INFO, "Using V-IPU partition %s as it is the only one available", id);
}

void story_connecting(const struct journal *journal, const char *host, uint32_t port)
{
    journal_add(journal, JOURNAL_DEBUG, "Connecting to %s:%u", host, port);
}

void story_status(const struct journal *journal, const char *id)
{
    journal_add(journal, JOURNAL_DEBUG, "Status for partition %s: OK (error 0)", id);
}

void story_exists(const struct journal *journal, const struct vipu_partition *partition)
{
    journal_add(journal, JOURNAL_INFO, "Partition %s already exists and is in state: PS_%s", partition->id,
                vipu_ready_state_name(partition->ready_state));
}

void story_partition(const struct journal *journal, const struct vipu_partition *partition)
{
    if (partition->reconfigurable)
        journal_add(journal, JOURNAL_DEBUG, "The reconfigurable partition %s is OK", partition->id);
    else
        journal_add(journal, JOURNAL_DEBUG, "Done polling, final state of %s: PS_%s", partition->id,
                    vipu_ready_state_name(partition->ready_state));
}

static void tell_parent(const struct journal *journal, const struct parent *p)
{
    journal_add(journal, JOURNAL_DEBUG, "Found %u devices with %u IPUs", p->count, p->size);
    journal_add(journal, JOURNAL_DEBUG, "Attached to device %u", p->first_id);
    if (p->children > 1)
        journal_add(journal, JOURNAL_DEBUG, "Found %u children (expected %u) of device %u with %u IPUs each",
                    p->children, p->children, p->first_id, p->child_size);
    journal_add(journal, JOURNAL_INFO, "Preparing parent device %u", p->first_id);
    journal_add(journal, JOURNAL_DEBUG,
                "Device %u ipuLinkDomainSize=%u, ipuLinkConfiguration=Default, ipuLinkTopology=Mesh, "
                "gatewayMode=true, instanceSize=%u",
                p->first_id, p->domain_size, p->child_size);
}

bool story_targets(const struct journal *journal, const char *environment,
                   const struct vipu_partition *partition, const struct parent *parent,
                   uint32_t num_instances, char **ret, struct err *err)
{
    AUTO(mem) char *own = NULL;
    AUTO(mem) char *of_partition = partition ? partition_target_options(partition, num_instances) : NULL;
    AUTO(mem) char *of_parent = parent ? parent_target_options(parent) : NULL;
    AUTO(mem) char *merged = NULL;

    if (!targets_read(environment, &own, err) ||
        !targets_merge(environment, of_partition, of_parent, &merged, err))
        return false;
    journal_add(journal, JOURNAL_DEBUG, "Target options from environment: %s", own);
    if (partition)
        journal_add(journal, JOURNAL_DEBUG, "Target options from V-IPU partition: %s", of_partition);
    if (parent) {
        tell_parent(journal, parent);
        journal_add(journal, JOURNAL_DEBUG, "Target options from Poplar device: %s", of_parent);
    }
    journal_add(journal, JOURNAL_DEBUG, "Using target options: %s", merged);
    *ret = TAKE(merged);
    return true;
}

void story_network(const struct journal *journal, const struct topology *topology, const char *network)
{
    if (topology->hosts->count == 0)
        journal_add(journal, JOURNAL_DEBUG, "No hosts specified; ignoring host-subnet setting");
    journal_add(journal, JOURNAL_DEBUG, "Default network/RNIC for host communication: %s",
                network ? network : "None");
}

void story_command(const struct journal *journal, const struct plan *plan)
{
    AUTO(str) struct str text = {0};

    words_join_quoted(&plan->argv, &text);
    for (size_t i = 0; i < plan->variables.count; i++)
        journal_add(journal, JOURNAL_TRACE, "Variable for mpirun: %s", plan->variables.items[i]);
    journal_add(journal, JOURNAL_INFO, "Running command: %s", str_text(&text));
}

void story_waiting(const struct journal *journal, int64_t pid)
{
    journal_add(journal, JOURNAL_INFO, "Waiting for mpirun (PID %lld)", (long long)pid);
}

void story_end(const struct journal *journal, int64_t pid, int status)
{
    journal_add(journal, JOURNAL_INFO, "mpirun (PID %lld) terminated with exit code %d", (long long)pid,
                status);
}
