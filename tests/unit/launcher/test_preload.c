#include "launcher/env/preload.h"

#include "base/core/mem.h"
#include "lib/check.h"

static const struct {
    char *own;
    const char *added, *removed;
} rows[] = {
    {NULL, "/ipu/ipu-nopty.so", NULL},
    {"LD_PRELOAD=", "/ipu/ipu-nopty.so", NULL},
    {"LD_PRELOAD=/usr/lib/jemalloc.so", "/ipu/ipu-nopty.so:/usr/lib/jemalloc.so", "/usr/lib/jemalloc.so"},
    {"LD_PRELOAD=/old/ipu-nopty.so", "/ipu/ipu-nopty.so", NULL},
    {"LD_PRELOAD=/old/ipu-nopty.so:a b", "/ipu/ipu-nopty.so:a b", "a b"},
};

TEST(the_library_comes_first_and_goes_alone)
{
    CHECK_ROWS (row, rows) {
        char *inherited[] = {row->own, NULL};
        AUTO(envv) struct envv env = {0};

        envv_init(&env, inherited);
        preload_add(&env, "/ipu");
        CHECK_STR_EQ(envv_get(&env, "LD_PRELOAD"), row->added);
        preload_remove(&env);
        CHECK_STR_EQ(envv_get(&env, "LD_PRELOAD"), row->removed);
        preload_remove(&env);
        CHECK_STR_EQ(envv_get(&env, "LD_PRELOAD"), row->removed);
    }
}
