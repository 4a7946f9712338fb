/* The network interface of this pod's address. With host networking the node's name often resolves to a
 * loopback address, from which gloo takes its interface (createDefaultDevice in
 * torch/csrc/distributed/c10d/ProcessGroupGloo.cpp of pytorch/pytorch, CreateDeviceAttr in
 * gloo/transport/tcp/device.cc of facebookincubator/gloo): workers would not reach each other. */
#pragma once

#include "launcher/env/envv.h"

#define NETWORK_INTERFACE_ENV_ADDRESS "IPU_JOB_ADDRESS" /* set with host networking alone */

/* Sets GLOO_SOCKET_IFNAME, and TP_SOCKET_IFNAME of TensorPipe, unless the user has set them. */
void network_interface_complete(struct envv *env);
