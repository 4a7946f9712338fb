/* The names of VIPUControllers. Pure. */
#pragma once

#include <stdbool.h>

#include "operator/pool/config.h"

/* The address as a DNS label: "vipu0.example.com:8090" is vipu0-example-com-8090. A hash of the address is
 * appended where that is too long or also another controller's, so that a name does not depend on the order
 * of the configuration. With is_hidden the name is made of the hash alone. Owned by the caller. */
char *controller_name(const struct pool_config *config, size_t index, bool is_hidden);
