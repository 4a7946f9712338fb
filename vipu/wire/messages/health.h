/* The messages of gRPC's health service (health.proto), for the server. Pure; the rules are those of
 * requests.h. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/wire/messages/arena.h"

#define WIRE_HEALTH "/grpc.health.v1.Health/"

MUST_USE bool wire_get_health_request(struct slice bytes, struct arena *arena, const char **ret_service,
                                      struct err *err);
void wire_put_serving(struct str *out);
void wire_put_service_unknown(struct str *out);
