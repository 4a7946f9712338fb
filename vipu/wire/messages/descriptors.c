#include "vipu/wire/messages/descriptors.h"

#include <string.h>

#include "base/core/mem.h"
#include "vipu/wire/messages/fields.h"

extern const unsigned char vipu_descriptors[];
extern const size_t vipu_descriptors_len;

/* Of google/protobuf/descriptor.proto; everything that is declared has its name in field 1. */
enum {
    SET_FILE = 1,
    NAME = 1,
    FILE_PACKAGE = 2,
    FILE_SERVICE = 6,
};

enum kind { IN_FILE, IN_MESSAGE, IN_ENUM, IN_SERVICE, LEAF };

static const struct {
    enum kind in;
    uint32_t number;
    enum kind kind;
} declared[] = {
    {IN_FILE, 4, IN_MESSAGE},    {IN_FILE, 5, IN_ENUM},    {IN_FILE, FILE_SERVICE, IN_SERVICE},
    {IN_MESSAGE, 2, LEAF},       {IN_MESSAGE, 8, LEAF}, /* fields and oneofs */
    {IN_MESSAGE, 3, IN_MESSAGE}, {IN_MESSAGE, 4, IN_ENUM}, {IN_ENUM, 2, LEAF},
    {IN_SERVICE, 2, LEAF},
};

struct slice descriptors_all(void)
{
    return (struct slice){(const char *)vipu_descriptors, vipu_descriptors_len};
}

bool descriptors_next(struct slice *rest, struct slice *ret_file)
{
    return field_next_of(rest, SET_FILE, ret_file);
}

static struct slice text_of(struct slice message, uint32_t number)
{
    struct slice text = {0};

    (void)field_next_of(&message, number, &text);
    return text;
}

/* What follows the name and a dot; NULL: it is another name. "" if it is this one. */
static const char *after(struct slice name, const char *symbol)
{
    if (strncmp(symbol, name.ptr, name.len) != 0)
        return NULL;
    if (symbol[name.len] == '.')
        return symbol + name.len + 1;
    return symbol[name.len] ? NULL : symbol + name.len;
}

/* No descriptor is deeper than its .proto file, so this ends. */
static bool declares(struct slice scope, enum kind in, const char *symbol)
{
    for (size_t i = 0; i < COUNT_OF(declared); i++) {
        struct slice rest = scope, child;

        while (declared[i].in == in && field_next_of(&rest, declared[i].number, &child)) {
            const char *left = after(text_of(child, NAME), symbol);

            if (left && !*left)
                return true;
            /* A value is named beside its enum, not below it. */
            if (declared[i].kind == IN_ENUM)
                left = symbol;
            if (left && declares(child, declared[i].kind, left))
                return true;
        }
    }
    return false;
}

bool descriptors_find_file(const char *name, struct slice *ret_file)
{
    struct slice rest = descriptors_all();

    while (descriptors_next(&rest, ret_file))
        if (slice_eq(text_of(*ret_file, NAME), name))
            return true;
    return false;
}

bool descriptors_find_symbol(const char *symbol, struct slice *ret_file)
{
    struct slice rest = descriptors_all();

    while (descriptors_next(&rest, ret_file)) {
        const char *left = after(text_of(*ret_file, FILE_PACKAGE), symbol);

        if (left && *left && declares(*ret_file, IN_FILE, left))
            return true;
    }
    return false;
}

void descriptors_services(struct strv *out)
{
    struct slice rest = descriptors_all(), file;

    while (descriptors_next(&rest, &file)) {
        struct slice package = text_of(file, FILE_PACKAGE), in = file, service;

        while (field_next_of(&in, FILE_SERVICE, &service)) {
            struct slice name = text_of(service, NAME);

            strv_pushf(out, "%.*s.%.*s", (int)package.len, package.ptr, (int)name.len, name.ptr);
        }
    }
}
