#include "vipu/wire/messages/reflection.h"

#include <reflection.pb-c.h>

#include "base/core/mem.h"
#include "vipu/wire/messages/descriptors.h"
#include "vipu/wire/messages/proto.h"

typedef Grpc__Reflection__V1__ServerReflectionRequest Request;
typedef Grpc__Reflection__V1__ServerReflectionResponse Response;

#define ASKED(what) GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_##what
/* gRPC statuses. */
enum { INVALID_ARGUMENT = 3, NOT_FOUND = 5 };

#define ANSWERED(what) GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_##what

static void put_error(Response *response, int status, const char *text, struct str *out)
{
    Grpc__Reflection__V1__ErrorResponse error = GRPC__REFLECTION__V1__ERROR_RESPONSE__INIT;

    error.error_code = status;
    error.error_message = proto_text(text);
    response->message_response_case = ANSWERED(ERROR_RESPONSE);
    response->error_response = &error;
    proto_pack(response, out);
}

static void put_not_found(Response *response, const char *what, const char *name, struct str *out)
{
    AUTO(mem) char *text = mem_printf("%s \"%s\" not found", what, name);

    put_error(response, NOT_FOUND, text, out);
}

/* protobuf-c has no const in its structs and never writes to what it packs. */
static void put_file(Response *response, struct slice file, struct str *out)
{
    AUTO(mem) uint8_t *copy = mem_dup(file.ptr, file.len);
    ProtobufCBinaryData bytes = {file.len, copy};
    Grpc__Reflection__V1__FileDescriptorResponse files = GRPC__REFLECTION__V1__FILE_DESCRIPTOR_RESPONSE__INIT;

    files.n_file_descriptor_proto = 1;
    files.file_descriptor_proto = &bytes;
    response->message_response_case = ANSWERED(FILE_DESCRIPTOR_RESPONSE);
    response->file_descriptor_response = &files;
    proto_pack(response, out);
}

static void put_services(Response *response, struct str *out)
{
    AUTO(strv) struct strv names = {0};
    Grpc__Reflection__V1__ListServiceResponse list = GRPC__REFLECTION__V1__LIST_SERVICE_RESPONSE__INIT;

    descriptors_services(&names);
    AUTO(mem) Grpc__Reflection__V1__ServiceResponse *services = mem_alloc(names.count * sizeof(*services));
    AUTO(mem) Grpc__Reflection__V1__ServiceResponse **all = mem_alloc(names.count * sizeof(*all));

    for (size_t i = 0; i < names.count; i++) {
        grpc__reflection__v1__service_response__init(&services[i]);
        services[i].name = names.items[i];
        all[i] = &services[i];
    }
    list.n_service = names.count;
    list.service = all;
    response->message_response_case = ANSWERED(LIST_SERVICES_RESPONSE);
    response->list_services_response = &list;
    proto_pack(response, out);
}

/* No file here declares an extension. */
static void put_extension_numbers(Response *response, const char *type, struct str *out)
{
    Grpc__Reflection__V1__ExtensionNumberResponse numbers =
        GRPC__REFLECTION__V1__EXTENSION_NUMBER_RESPONSE__INIT;
    struct slice file;

    if (!descriptors_find_symbol(type, &file)) {
        put_not_found(response, "type", type, out);
        return;
    }
    numbers.base_type_name = proto_text(type);
    response->message_response_case = ANSWERED(ALL_EXTENSION_NUMBERS_RESPONSE);
    response->all_extension_numbers_response = &numbers;
    proto_pack(response, out);
}

static void put_answer(const Request *request, Response *response, struct str *out)
{
    struct slice file;

    switch ((int)request->message_request_case) { /* its enum has a value that only sets its size */
    case ASKED(FILE_BY_FILENAME):
        if (descriptors_find_file(request->file_by_filename, &file))
            put_file(response, file, out);
        else
            put_not_found(response, "file", request->file_by_filename, out);
        return;
    case ASKED(FILE_CONTAINING_SYMBOL):
        if (descriptors_find_symbol(request->file_containing_symbol, &file))
            put_file(response, file, out);
        else
            put_not_found(response, "symbol", request->file_containing_symbol, out);
        return;
    case ASKED(FILE_CONTAINING_EXTENSION):
        put_not_found(response, "extension of", request->file_containing_extension->containing_type, out);
        return;
    case ASKED(ALL_EXTENSION_NUMBERS_OF_TYPE):
        put_extension_numbers(response, request->all_extension_numbers_of_type, out);
        return;
    case ASKED(LIST_SERVICES):
        put_services(response, out);
        return;
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST__NOT_SET:
    default:
        put_error(response, INVALID_ARGUMENT, "the request asks for nothing", out);
    }
}

bool wire_answer_reflection(struct slice bytes, struct arena *arena, struct str *out, struct err *err)
{
    Response response = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;
    Request *request =
        proto_unpack_request(&grpc__reflection__v1__server_reflection_request__descriptor, bytes, arena, err);

    if (!request)
        return false;
    response.valid_host = request->host;
    response.original_request = request;
    put_answer(request, &response, out);
    return true;
}
