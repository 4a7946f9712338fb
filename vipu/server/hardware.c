#include "vipu/server/hardware.h"

#include "base/core/mem.h"

#define GATEWAY_VERSION "2.6.0"
#define MACHINE_VERSION "2.6.0"
#define IPUOF_SERVER_PORT 50052u
#define IPUOF_RDMA_PORT 50053u
#define IPU_ARCHITECTURE 2u

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

/* A stable number for a machine, for serial numbers (FNV-1a). */
static uint32_t machine_number(const struct vipu_machine *machine)
{
    uint32_t hash = 2166136261u;

    for (const char *c = machine->name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return hash;
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
    put_text(&ipu, "board type", "M2000");
    put(&ipu, "chip id", chip_id(machine, board));
    put_text(&ipu, "clock", "1330MHz");
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
    put_text(&ipu, "ipu error state", "no errors");
    put_text(&ipu, "ipuof host", machine->ipuof_ip);
    put_text(&ipu, "link correctable error count", "0");
    put_text(&ipu, "link speed", "16 GT/s");
    put_text(&ipu, "link width", "8");
    put(&ipu, "pci id", mem_printf("%u", board));
    put(&ipu, "pcie physical slot", mem_printf("%u", board));
    return ipu;
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

static struct vipu_ipuof_gcd gcd_config(const struct vipu_cluster *cluster, const struct vipu_partition *p,
                                        uint32_t gcd)
{
    uint32_t count = p->size / p->num_gcds;
    struct vipu_ipuof_gcd config = {
        .devices = mem_alloc(count * sizeof(*config.devices)),
        .device_count = count,
        .attributes = mem_alloc(3 * sizeof(*config.attributes)),
        .attribute_count = 3,
    };

    for (uint32_t i = 0; i < count; i++)
        config.devices[i] = device(cluster, &p->ipus[gcd * count + i]);
    config.attributes[0] =
        attribute("Fabric Reconfigurable", mem_strdup(p->reconfigurable ? "true" : "false"));
    config.attributes[1] = attribute("GCD Id", mem_printf("%u", gcd));
    config.attributes[2] = attribute("Partition Id", mem_strdup(p->id));
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
