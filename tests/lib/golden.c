#include "lib/golden.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "lib/check.h"

static char *path_of(const char *name)
{
    return mem_printf("%s/%s", GOLDEN_DIR, name);
}

static char *read_or_null(const char *name)
{
    AUTO(mem) char *path = path_of(name);
    FILE *file = fopen(path, "re");
    struct str text = {0};
    char chunk[4096];
    size_t len;

    if (!file)
        return NULL;
    while ((len = fread(chunk, 1, sizeof chunk, file)) > 0)
        str_add(&text, chunk, len);
    (void)fclose(file);
    return str_take(&text);
}

char *golden_read(const char *name)
{
    char *text = read_or_null(name);

    if (!text)
        CHECK_FAIL("tests/golden/%s: %s", name, strerror(errno));
    return text;
}

static void update(const char *name, const char *text)
{
    AUTO(mem) char *path = path_of(name);
    FILE *file = fopen(path, "we");

    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        CHECK_FAIL("tests/golden/%s cannot be written: %s", name, strerror(errno));
}

/* The first line that differs, counted from 1. */
static unsigned first_difference(const char *a, const char *b)
{
    unsigned line = 1;

    for (; *a && *a == *b; a++, b++)
        line += *a == '\n';
    return line;
}

void golden_check(const char *name, const char *text)
{
    AUTO(mem) char *want = NULL;

    if (getenv("UPDATE_GOLDEN")) {
        update(name, text);
        return;
    }
    want = read_or_null(name);
    if (!want)
        CHECK_FAIL("tests/golden/%s is missing; write it with UPDATE_GOLDEN=1 and review it", name);
    if (!str_eq(want, text))
        CHECK_FAIL(
            "tests/golden/%s differs from line %u on; if that is meant, write it with UPDATE_GOLDEN=1 and "
            "review it. It would be:\n%s",
            name, first_difference(want, text), text);
}
