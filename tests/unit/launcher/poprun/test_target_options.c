#include "launcher/poprun/plan/target_options.h"

#include "base/core/mem.h"
#include "lib/check.h"

#define PARTITION                                                                                            \
    "{\"ipuLinkDomainSize\":\"64\",\"ipuLinkConfiguration\":\"slidingWindow\",\"ipuLinkTopology\":\"mesh\"," \
    "\"gatewayMode\":\"true\",\"instanceSize\":\"32\"}"
#define DEVICE                                                                                               \
    "{\"ipuLinkDomainSize\":\"64\",\"ipuLinkConfiguration\":\"default\",\"ipuLinkTopology\":\"mesh\","       \
    "\"gatewayMode\":\"true\",\"instanceSize\":\"1\"}"

static const struct {
    const char *environment, *partition, *device, *merged;
} layers[] = {
    {NULL, NULL, NULL, "{}"},
    {NULL, PARTITION, DEVICE, PARTITION},
    {"", NULL, DEVICE, DEVICE},
    {"{\"instanceSize\":\"7\", \"extra\":\"a\"}", PARTITION, NULL,
     "{\"ipuLinkDomainSize\":\"64\",\"ipuLinkConfiguration\":\"slidingWindow\",\"ipuLinkTopology\":\"mesh\","
     "\"gatewayMode\":\"true\",\"instanceSize\":\"7\",\"extra\":\"a\"}"},
    {"{\"ipuLinkDomainSize\":\"64\"}", NULL, NULL, "{\"ipuLinkDomainSize\":\"64\"}"},
};

/* On record: POPLAR_TARGET_OPTIONS of the environment is merged in first; target options are JSON without
 * blanks, of strings in a fixed order; those of the environment come before the partition's, and these
 * before the device's. */
TEST(the_environment_is_stronger_than_the_partition_and_that_than_the_device)
{
    CHECK_ROWS (row, layers) {
        AUTO(mem) char *merged = NULL;
        struct err err;

        CHECK_OK(target_options_merge(row->environment, row->partition, row->device, &merged, &err), err);
        CHECK_STR_EQ(merged, row->merged);
    }
}

TEST(target_options_that_are_no_object_of_strings_are_rejected)
{
    static const char *const bad[] = {"{", "[]", "64", "{\"ipuLinkDomainSize\":64}", "{\"a\":{}}", "{} x"};

    CHECK_ROWS (row, bad) {
        char *text = NULL;
        struct err err;

        CHECK_ERR(target_options_read(*row, &text, &err), err, ERR_INVALID);
        CHECK_HAS(err.msg, "variable POPLAR_TARGET_OPTIONS: ");
        CHECK_ERR(target_options_merge(*row, PARTITION, NULL, &text, &err), err, ERR_INVALID);
        CHECK_STR_EQ(text, NULL);
    }
}
