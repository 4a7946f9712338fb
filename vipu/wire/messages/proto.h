/* What requests and replies share with the generated code: decoding into an arena, packing into a string,
 * and text that is safe to show. Only these two include the generated header. */
#pragma once

#include <stddef.h>
#include <vipu.pb-c.h>

#include "base/core/err.h"
#include "base/core/str.h"
#include "vipu/model/partition.h"
#include "vipu/wire/messages/arena.h"

/* NULL with ERR_INVALID if the bytes are not such a message or need more than the arena's budget. */
void *proto_unpack(const ProtobufCMessageDescriptor *type, struct slice bytes, struct arena *arena,
                   struct err *err);
/* The same for what a client asks: also ERR_INVALID if a text is not valid UTF-8 or contains NUL, because the
 * rest of it would be ignored, or it would be shown as another text. */
void *proto_unpack_request(const ProtobufCMessageDescriptor *type, struct slice bytes, struct arena *arena,
                           struct err *err);
bool proto_pack(const void *message, struct str *out);
/* Replaces, in place, invalid UTF-8 and control characters by '?'. Returns text. */
char *proto_clean(char *text);
char *proto_copy(char *text);       /* cleaned; the caller frees it */
char *proto_text(const char *text); /* for fields that are only read by the packer; NULL becomes "" */

/* In the arena; NULL beyond its budget. */
Virmgrpc__PartitionIpu **proto_ipus(const struct vipu_ipu *ipus, size_t count, struct arena *arena);
struct vipu_ipu proto_ipu(const Virmgrpc__PartitionIpu *ipu);
