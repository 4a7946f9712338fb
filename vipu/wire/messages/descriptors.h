/* The .proto files of the server's services as reflection shows them: google.protobuf.FileDescriptorProto,
 * made by the build. Pure; results are borrowed from the program itself. */
#pragma once

#include <stdbool.h>

#include "base/core/str.h"

/* The next file, from the front of rest, which is descriptors_all() at first. */
struct slice descriptors_all(void);
bool descriptors_next(struct slice *rest, struct slice *ret_file);

bool descriptors_find_file(const char *name, struct slice *ret_file); /* "vipu.proto" */
/* The file that declares this full name: of a message, enum, service, or of a field, value or method in it.
 */
bool descriptors_find_symbol(const char *symbol, struct slice *ret_file);
void descriptors_services(struct strv *out); /* full names */
