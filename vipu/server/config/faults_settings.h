/* The keys of faults by section, and the default rules. Reading, writing, help and documentation use the
 * same rows. */
#pragma once

#include "vipu/server/config/settings.h"
#include "vipu/server/controller/faults.h"

extern const struct setting faults_settings[];
extern const struct setting fault_quirk_settings[];
extern const struct setting fault_call_settings[];
extern const struct setting fault_partition_settings[];
extern const struct setting fault_hardware_settings[];

extern const struct faults faults_plain;
extern const struct fault_call fault_call_plain;
extern const struct fault_partition fault_partition_plain;
extern const struct fault_hardware fault_hardware_plain;
