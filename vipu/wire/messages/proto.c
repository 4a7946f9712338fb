#include "vipu/wire/messages/proto.h"

#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/utf8.h"
#include "vipu/wire/messages/fields.h"

static void *alloc_piece(void *arena, size_t size)
{
    return arena_alloc(arena, size);
}

static void free_piece(void *arena, void *piece)
{
    (void)arena;
    (void)piece;
}

char *proto_clean(char *text)
{
    size_t left = strlen(text);

    for (char *s = text; left > 0;) {
        size_t len = utf8_len(s, left);

        if (len == 0 || (unsigned char)*s < ' ' || *s == 0x7f) {
            *s = '?';
            len = 1;
        }
        s += len;
        left -= len;
    }
    return text;
}

static bool is_text(struct slice bytes)
{
    for (size_t at = 0, len; at < bytes.len; at += len) {
        len = utf8_len(bytes.ptr + at, bytes.len - at);
        if (len == 0 || bytes.ptr[at] == '\0')
            return false;
    }
    return true;
}

static bool cannot_decode(const ProtobufCMessageDescriptor *type, struct slice bytes, struct err *err)
{
    return err_set(err, ERR_INVALID, "cannot decode %s (%zu bytes): invalid, or over the memory limit",
                   type->short_name, bytes.len);
}

/* No message of a request contains one of its own type, so this ends. */
static bool check_texts(const ProtobufCMessageDescriptor *type, struct slice message, struct err *err)
{
    struct slice rest = message;
    struct field field;

    while (field_next(&rest, &field)) {
        const ProtobufCFieldDescriptor *known = protobuf_c_message_descriptor_get_field(type, field.number);

        if (!known || field.type != FIELD_BYTES)
            continue;
        if (known->type == PROTOBUF_C_TYPE_STRING && !is_text(field.bytes))
            return err_set(err, ERR_INVALID, "%s must be valid UTF-8 without NUL bytes", known->name);
        if (known->type == PROTOBUF_C_TYPE_MESSAGE && !check_texts(known->descriptor, field.bytes, err))
            return false;
    }
    return rest.len == 0 || cannot_decode(type, message, err);
}

void *proto_unpack(const ProtobufCMessageDescriptor *type, struct slice bytes, struct arena *arena,
                   struct err *err)
{
    ProtobufCAllocator allocator = {alloc_piece, free_piece, arena};
    void *message =
        protobuf_c_message_unpack(type, &allocator, bytes.len, (const uint8_t *)(bytes.ptr ? bytes.ptr : ""));

    if (!message)
        cannot_decode(type, bytes, err);
    return message;
}

void *proto_unpack_request(const ProtobufCMessageDescriptor *type, struct slice bytes, struct arena *arena,
                           struct err *err)
{
    return check_texts(type, bytes, err) ? proto_unpack(type, bytes, arena, err) : NULL;
}

struct sink {
    ProtobufCBuffer base;
    struct str *out;
    bool ok;
};

static void append(ProtobufCBuffer *buffer, size_t len, const uint8_t *bytes)
{
    struct sink *sink = CONTAINER_OF(buffer, struct sink, base);

    sink->ok = str_add(sink->out, bytes, len) && sink->ok;
}

bool proto_pack(const void *message, struct str *out)
{
    struct sink sink = {.base = {append}, .out = out, .ok = true};

    protobuf_c_message_pack_to_buffer(message, &sink.base);
    return sink.ok;
}

char *proto_copy(char *text)
{
    return mem_strdup(proto_clean(text));
}

/* protobuf-c has no const in its structs and never writes to what it packs. */
char *proto_text(const char *text)
{
    static char empty[] = "";
    union {
        const char *from;
        char *to;
    } borrowed = {.from = text};

    return text ? borrowed.to : empty;
}

Virmgrpc__PartitionIpu **proto_ipus(const struct vipu_ipu *ipus, size_t count, struct arena *arena)
{
    Virmgrpc__PartitionIpu **list = arena_alloc(arena, (count + 1) * sizeof(*list));
    Virmgrpc__PartitionIpu *all = arena_alloc(arena, (count + 1) * sizeof(*all));

    if (!list || !all)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        virmgrpc__partition_ipu__init(&all[i]);
        all[i].ipulink_domain_topology_id = ipus[i].domain_topology_id;
        all[i].ipulink_domain_routing_id = ipus[i].domain_routing_id;
        all[i].topology_id = ipus[i].topology_id;
        all[i].routing_id = ipus[i].routing_id;
        list[i] = &all[i];
    }
    return list;
}

struct vipu_ipu proto_ipu(const Virmgrpc__PartitionIpu *ipu)
{
    return (struct vipu_ipu){
        .domain_topology_id = ipu->ipulink_domain_topology_id,
        .domain_routing_id = ipu->ipulink_domain_routing_id,
        .topology_id = ipu->topology_id,
        .routing_id = ipu->routing_id,
    };
}
