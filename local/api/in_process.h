/* base/http/http_client.h without a network: every request is answered by one API server in this process.
 * Linked in place of base/http/http_client.c, so that the operator's Kubernetes client runs unchanged. */
#pragma once

#include "local/api/api.h"

void in_process_serve(struct api *api); /* borrowed; before the first request */
