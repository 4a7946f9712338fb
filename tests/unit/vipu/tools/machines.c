#include "machines.h"

#include "base/core/mem.h"

#define IPUS 4u

static void tell(struct vipu_agent_ipu *ipu, const char *key, char *value_take)
{
    ipu->attributes = mem_grow(ipu->attributes, ipu->attribute_count + 1, sizeof(*ipu->attributes));
    ipu->attributes[ipu->attribute_count++] = (struct vipu_attribute){mem_strdup(key), value_take};
}

static struct vipu_agent_ipu make_ipu(const struct machine_row *row, uint32_t board)
{
    struct vipu_agent_ipu ipu = {.id = board ^ 1};

    tell(&ipu, "board ipu index", mem_printf("%u", board));
    tell(&ipu, "board serial number",
         mem_printf("%.4s.000%d.%s", row->serial, board >= 2 ? 2 : 1, row->serial + 5));
    tell(&ipu, "board type", mem_strdup("M2000"));
    tell(&ipu, "chip id", mem_printf("%s-%u", row->ip, board));
    tell(&ipu, "clock", mem_strdup("1330MHz"));
    tell(&ipu, "firmware version", mem_strdup("2.4.4"));
    tell(&ipu, "ipuof host", mem_strdup(row->ip));
    return ipu;
}

static struct vipu_ipuof_device make_device(const struct machine_row *row, uint32_t routing_id)
{
    uint32_t board = IPUS - 1 - routing_id % IPUS;

    return (struct vipu_ipuof_device){
        .ip = mem_strdup(row->ip),
        .server_port = 50052,
        .device_id = board,
        .routing_id = routing_id,
        .ipu_arch_id = 2,
        .ipu_id = board,
        .chip_id = mem_printf("%s-%u", row->ip, board),
        .gwsw_version = mem_strdup("2.4.2"),
        .ipum_sw_version = mem_strdup("2.5.0"),
    };
}

struct machines machines_make(const char *partition, const struct machine_row *rows, uint32_t ipus)
{
    uint32_t count = (ipus + IPUS - 1) / IPUS;
    struct machines made = {
        .view = {.partition = mem_strdup(partition),
                 .active = true,
                 .reconfigurable = true,
                 .routing = VIPU_ROUTING_DNC,
                 .sync_type = mem_strdup("c2-compatible"),
                 .server_version = mem_strdup("1.9.0"),
                 .num_replicas = 1,
                 .ipus = mem_alloc(ipus * sizeof(*made.view.ipus)),
                 .ipu_count = ipus},
        .agents = {.items = mem_alloc(count * sizeof(*made.agents.items)), .count = count},
    };
    AUTO(ipu_index) struct ipu_index index = {0};

    for (uint32_t i = 0; i < count; i++) {
        made.agents.items[i] = (struct vipu_agent){.name = mem_printf("ag%u", i + 1),
                                                   .ipus = mem_alloc(IPUS * sizeof(struct vipu_agent_ipu)),
                                                   .ipu_count = IPUS};
        for (uint32_t board = 0; board < IPUS; board++)
            made.agents.items[i].ipus[board ^ 1] = make_ipu(&rows[i], board);
    }
    for (uint32_t i = 0; i < ipus; i++)
        made.view.ipus[i].device = make_device(&rows[i / IPUS], i);
    ipu_index_init(&index, &made.agents);
    gcd_view_add_attributes(&made.view, &index);
    return made;
}

void machines_tell(struct machines *machines, uint32_t ipu, const char *key, const char *value)
{
    uint32_t board = machines->view.ipus[ipu].device.ipu_id;

    tell(&machines->agents.items[ipu / IPUS].ipus[board ^ 1], key, mem_strdup(value));
}

void machines_release(struct machines *machines)
{
    gcd_view_release(&machines->view);
    vipu_agents_release(&machines->agents);
}
