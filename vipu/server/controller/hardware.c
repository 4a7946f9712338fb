#include "vipu/server/controller/hardware.h"

#include <string.h>

#include "base/core/fnv.h"
#include "base/core/mem.h"
#include "base/core/str.h"

#define GATEWAY_VERSION "2.6.0"
#define MACHINE_VERSION "2.6.0"
#define IPUOF_SERVER_PORT 50052u
#define IPUOF_RDMA_PORT 50053u
#define IPU_ARCHITECTURE 2u
#define ERROR_STATE "ipu error state"

/* Within a machine the routing ids run against the board's numbering: topology id 0 is IPU 3 of the board.
 * Hardware ids are swapped in pairs (hardware IPU 0 is number 1 of the board). */
uint32_t hardware_board_index(uint32_t topology_id)
{
    return VIPU_AGENT_IPUS - 1 - topology_id % VIPU_AGENT_IPUS;
}

static uint32_t hardware_id(uint32_t board)
{
    return board ^ 1;
}

uint32_t hardware_topology_id(uint32_t id)
{
    return VIPU_AGENT_IPUS - 1 - (id ^ 1);
}

/* A stable number for a machine, for serial numbers. */
static uint32_t machine_number(const struct vipu_machine *machine)
{
    return fnv32_add_bytes(FNV32_BASIS, machine->name, strlen(machine->name));
}

static char *serial(const struct vipu_machine *machine, uint32_t board)
{
    return mem_printf("%04u.%04u.8%06u", machine_number(machine) / 1000000 % 10000, board >= 2 ? 2u : 1u,
                      machine_number(machine) % 1000000);
}

static char *chip_id(const struct vipu_machine *machine, uint32_t board)
{
    uint64_t number = (uint64_t)machine_number(machine) << 8 | board;

    return mem_printf("%012llx", (unsigned long long)number);
}

static void put(struct vipu_agent_ipu *ipu, const char *key, char *value_take)
{
    ipu->attributes = mem_grow(ipu->attributes, ipu->attribute_count + 1, sizeof(*ipu->attributes));
    ipu->attributes[ipu->attribute_count++] = (struct vipu_attribute){mem_strdup(key), value_take};
}

static void put_text(struct vipu_agent_ipu *ipu, const char *key, const char *value)
{
    put(ipu, key, mem_strdup(value));
}

static struct vipu_agent_ipu agent_ipu(const struct vipu_machine *machine, uint32_t board)
{
    struct vipu_agent_ipu ipu = {.id = hardware_id(board)};

    put(&ipu, "board ipu index", mem_printf("%u", board));
    put(&ipu, "board serial number", serial(machine, board));
    put_text(&ipu, "board type", machine->is_bow ? "Bow-2000" : "M2000");
    put(&ipu, "chip id", chip_id(machine, board));
    put_text(&ipu, "clock", machine->is_bow ? "1850MHz" : "1330MHz");
    put_text(&ipu, "driver version", "1.1.6");
    put_text(&ipu, "firmware major version", "2");
    put_text(&ipu, "firmware minor version", "6");
    put_text(&ipu, "firmware patch version", "0");
    put_text(&ipu, "firmware version", "2.6.0");
    put_text(&ipu, "gateway software version", GATEWAY_VERSION);
    put_text(&ipu, "hexoatt active size (bytes)", "0");
    put_text(&ipu, "hexoatt total size (bytes)", "34082914304");
    put_text(&ipu, "hexopt active size (bytes)", "0");
    put_text(&ipu, "hexopt total size (bytes)", "268435456");
    put_text(&ipu, "host link correctable error count", "0");
    put_text(&ipu, "ipu architecture", "ipu2");
    put_text(&ipu, ERROR_STATE, "no errors");
    put_text(&ipu, "ipuof host", machine->ipuof_ip);
    put_text(&ipu, "link correctable error count", "0");
    put_text(&ipu, "link speed", "16 GT/s");
    put_text(&ipu, "link width", "8");
    put(&ipu, "pci id", mem_printf("%u", board));
    put(&ipu, "pcie physical slot", mem_printf("%u", board));
    return ipu;
}

void hardware_set_error(struct vipu_agent_ipu *ipu, const char *text)
{
    for (size_t i = 0; i < ipu->attribute_count; i++)
        if (str_eq(ipu->attributes[i].key, ERROR_STATE))
            mem_set_str(&ipu->attributes[i].value, text);
}

struct vipu_agent hardware_agent(const struct vipu_cluster_domain *domain, uint32_t machine)
{
    struct vipu_agent agent = {
        .name = mem_strdup(domain->machines[machine].name),
        .ipus = mem_alloc(VIPU_AGENT_IPUS * sizeof(*agent.ipus)),
        .ipu_count = VIPU_AGENT_IPUS,
    };

    for (uint32_t id = 0; id < VIPU_AGENT_IPUS; id++)
        agent.ipus[id] = agent_ipu(&domain->machines[machine], hardware_id(id));
    return agent;
}

static struct vipu_ipuof_device device(const struct vipu_cluster *cluster, const struct vipu_ipu *ipu)
{
    const struct vipu_machine *machine =
        &cluster->domains[ipu->domain_topology_id].machines[ipu->topology_id / VIPU_AGENT_IPUS];
    uint32_t board = hardware_board_index(ipu->topology_id);

    return (struct vipu_ipuof_device){
        .ip = mem_strdup(machine->ipuof_ip),
        .server_port = IPUOF_SERVER_PORT,
        .rdma_port = IPUOF_RDMA_PORT,
        .device_id = board,
        .ipulink_segment_id = ipu->domain_routing_id,
        .routing_id = ipu->routing_id,
        .ipu_arch_id = IPU_ARCHITECTURE,
        .ipu_id = board,
        .chip_id = chip_id(machine, board),
        .gwsw_version = mem_strdup(GATEWAY_VERSION),
        .ipum_sw_version = mem_strdup(MACHINE_VERSION),
    };
}

static struct vipu_attribute attribute(const char *key, char *value_take)
{
    return (struct vipu_attribute){mem_strdup(key), value_take};
}

/* Only "GCD Id" has been seen (reference 5); the others carry what gc-info prints of a partition. */
static void put_attributes(const struct vipu_partition *p, uint32_t gcd, struct vipu_ipuof_gcd *config)
{
    const struct vipu_attribute all[] = {
        attribute("Fabric Reconfigurable", mem_strdup(p->reconfigurable ? "true" : "false")),
        attribute("GCD Id", mem_printf("%u", gcd)),
        attribute("Gateway Routing Type", mem_strdup(vipu_gateway_routing_name(p->gateway_routing))),
        attribute("Number Of GCDs", mem_printf("%u", p->num_gcds)),
        attribute("Number Of IPU-Link Domains", mem_printf("%u", p->num_ilds)),
        attribute("Number Of Replicas", mem_printf("%u", p->num_replicas)),
        attribute("Partition Id", mem_strdup(p->id)),
        attribute("Partition Sync Type", mem_strdup(vipu_sync_type_name(p->sync_type))),
        attribute("Routing Type", mem_strdup(vipu_routing_name(p->routing))),
    };

    config->attributes = mem_dup(all, sizeof(all));
    config->attribute_count = COUNT_OF(all);
}

static struct vipu_ipuof_gcd gcd_config(const struct vipu_cluster *cluster, const struct vipu_partition *p,
                                        uint32_t gcd)
{
    uint32_t count = p->size / p->num_gcds;
    struct vipu_ipuof_gcd config = {
        .devices = mem_alloc(count * sizeof(*config.devices)),
        .device_count = count,
    };

    for (uint32_t i = 0; i < count; i++)
        config.devices[i] = device(cluster, &p->ipus[gcd * count + i]);
    put_attributes(p, gcd, &config);
    return config;
}

bool hardware_ipuof(const struct vipu_cluster *cluster, const struct vipu_partition *p, int64_t gcd,
                    struct vipu_ipuof_config *ret, struct err *err)
{
    uint32_t first = gcd < 0 ? 0 : (uint32_t)gcd, count = gcd < 0 ? p->num_gcds : 1;

    if (first >= p->num_gcds)
        return err_set(err, ERR_INVALID, "partition %s has GCDs 0 to %u, not %u", p->id, p->num_gcds - 1,
                       first);
    *ret = (struct vipu_ipuof_config){
        .routing = p->routing,
        .gateway_routing = p->gateway_routing,
        .sync_type = p->sync_type,
        .reconfigurable = p->reconfigurable,
        .num_ilds = p->num_ilds,
        .ipuof_server_version = mem_strdup(p->ipuof_server_version),
        .gcds = mem_alloc(count * sizeof(*ret->gcds)),
        .gcd_count = count,
    };
    for (uint32_t i = 0; i < count; i++)
        ret->gcds[i] = gcd_config(cluster, p, first + i);
    return true;
}
