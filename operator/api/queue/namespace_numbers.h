/* A number for each namespace, as the command line has it: "team-a=32,*=16". Pure. */
#pragma once

#include "base/core/map.h"
#include "base/core/str.h"

/* For all namespaces that are not named. */
#define NAMESPACE_NUMBERS_OTHERS "*"

struct namespace_numbers {
    struct map of; /* namespace -> its number plus one */
};

/* Each mistake is a problem that begins with `where`. */
void namespace_numbers_read(const char *text, const char *where, struct namespace_numbers *ret,
                            struct strv *problems);
void namespace_numbers_release(struct namespace_numbers *numbers);
/* 0: it has none. */
uint32_t namespace_numbers_get(const struct namespace_numbers *numbers, const char *ns);
