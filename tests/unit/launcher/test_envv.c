#include "launcher/env/envv.h"

#include "base/core/mem.h"
#include "lib/check.h"

static char *const inherited[] = {"A=1", "EMPTY=", "no-equals", "A=2", "AB=3", "=odd", NULL};

static void check_items(const struct envv *env, const char *const *want)
{
    size_t count = 0;

    for (; want[count]; count++)
        CHECK_STR_EQ(env->items[count], want[count]);
    CHECK_INT_EQ(env->count, count);
    CHECK(!env->items[count]);
}

TEST(values_are_found_by_whole_name)
{
    AUTO(envv) struct envv env = {0};

    envv_init(&env, inherited);
    CHECK_STR_EQ(envv_get(&env, "A"), "1");
    CHECK_STR_EQ(envv_get(&env, "AB"), "3");
    CHECK_STR_EQ(envv_get(&env, "EMPTY"), "");
    CHECK_STR_EQ(envv_get(&env, "no-equals"), NULL);
    CHECK_STR_EQ(envv_get(&env, "EMPT"), NULL);
}

TEST(an_empty_environment_can_grow)
{
    static char *const nothing[] = {NULL};
    AUTO(envv) struct envv env = {0};

    envv_init(&env, nothing);
    CHECK(!env.items[0]);
    for (int i = 0; i < 100; i++) {
        AUTO(mem) char *name = mem_printf("N%d", i);

        envv_set(&env, name, "x");
    }
    CHECK_INT_EQ(env.count, 100);
    CHECK_STR_EQ(env.items[99], "N99=x");
    CHECK(!env.items[100]);
}

TEST(set_replaces_in_place_and_default_keeps)
{
    const char *const want[] = {"A=new", "EMPTY=", "no-equals", "A=2", "AB=3", "=odd", "C=4", NULL};
    AUTO(envv) struct envv env = {0};

    envv_init(&env, inherited);
    envv_set(&env, "A", "new");
    envv_default(&env, "EMPTY", "filled");
    envv_default(&env, "C", "4");
    envv_default(&env, "C", "5");
    check_items(&env, want);
    CHECK_INT_EQ(env.added.count, 2);
}

TEST(what_was_put_in_is_named_once)
{
    const char *const want[] = {"A=longer:last", "EMPTY=", "no-equals", "A=2", "AB=3", "=odd", NULL};
    AUTO(envv) struct envv env = {0};

    envv_init(&env, inherited);
    envv_set(&env, "A", "first");
    envv_set(&env, "A", envv_get(&env, "A"));
    envv_set(&env, "A", "longer:last");
    check_items(&env, want);
    CHECK_INT_EQ(env.added.count, 1);
    CHECK_STR_EQ(env.added.items[0], "A=longer:last");
}

TEST(wrapped_entries_become_defaults)
{
    static char *const wrapped[] = {"D_SET=ours",  "SET=users",   "D_FREE=ours", "D_FREE=again",
                                    "D_=nameless", "D_EMPTY=not", "EMPTY=",      "D_no-equals",
                                    "D_EQ=a=b",    "D_D_TWICE=1", NULL};
    const char *const want[] = {
        "SET=users", "FREE=ours", "D_=nameless", "EMPTY=", "D_no-equals", "EQ=a=b", "D_D_TWICE=1", NULL};
    AUTO(envv) struct envv env = {0};

    envv_init(&env, wrapped);
    CHECK_INT_EQ(envv_count(&env, "D_"), 5);
    envv_unwrap(&env, "D_");
    check_items(&env, want);
    CHECK_INT_EQ(envv_count(&env, "D_"), 0);
    CHECK_STR_EQ(env.added.items[0], "FREE=ours");
    CHECK_STR_EQ(env.added.items[1], "EQ=a=b");
}
