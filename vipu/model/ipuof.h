/* The IPUoF configuration of a partition: for each graph compilation domain the devices a program attaches to
 * and the attributes that the IPUoF client reads. Owned contents, freed by vipu_ipuof_config_release. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/mem.h"
#include "vipu/model/agents.h"
#include "vipu/model/partition.h"

struct vipu_ipuof_device {
    char *ip; /* of the machine on the RDMA network */
    uint32_t server_port;
    uint32_t rdma_port;
    uint32_t device_id; /* number of the device on that machine */
    uint32_t ipulink_segment_id;
    uint32_t routing_id;
    uint32_t ipu_arch_id;
    uint32_t ipu_id;
    char *chip_id;
    char *gwsw_version;
    char *ipum_sw_version;
};

struct vipu_ipuof_gcd {
    struct vipu_ipuof_device *devices;
    size_t device_count;
    struct vipu_attribute *attributes;
    size_t attribute_count;
};

struct vipu_ipuof_config {
    enum vipu_routing routing;
    enum vipu_gateway_routing gateway_routing;
    enum vipu_sync_type sync_type;
    bool reconfigurable;
    uint32_t num_ilds;
    char *ipuof_server_version;
    struct vipu_ipuof_gcd *gcds;
    size_t gcd_count;
};

void vipu_ipuof_config_release(struct vipu_ipuof_config *config);
DEFINE_AUTO(vipu_ipuof_config);
const char *vipu_ipuof_attribute(const struct vipu_ipuof_gcd *gcd, const char *key); /* NULL when absent */
