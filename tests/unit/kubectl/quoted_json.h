/* JSON as C strings can hold it without a backslash for each quote. */
#pragma once

#include "base/core/mem.h"
#include "base/doc/json.h"
#include "lib/check.h"

/* ' stands for ". Owned by the caller. */
static inline cJSON *parsed(const char *text)
{
    AUTO(mem) char *json = mem_strdup(text);
    struct err err = {0};
    cJSON *made;

    for (char *at = json; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    made = json_parse(slice_of(json), &err);
    CHECK_OK(made, err);
    return made;
}
