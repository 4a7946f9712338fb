/* The messages of gRPC's reflection service (reflection.proto), for the server. Pure; the rules are those of
 * requests.h. */
#pragma once

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/wire/messages/arena.h"

#define WIRE_REFLECTION "/grpc.reflection.v1.ServerReflection/"
#define WIRE_REFLECTION_V1ALPHA "/grpc.reflection.v1alpha.ServerReflection/" /* its older name */

/* Appends the response to one request. A name that is not found is a response too. */
MUST_USE bool wire_answer_reflection(struct slice request, struct arena *arena, struct str *out,
                                     struct err *err);
