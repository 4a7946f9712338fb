/* Any environment, one entry a line: either it is rejected, or what a user has set is as it was,
 * no name was added twice, and PopDist's numbers agree with each other. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "launcher/env/jobenv.h"
#include "popdist/contract.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void split(char *text, struct strv *lines)
{
    char *rest = text;
    char *line;

    while ((line = strsep(&rest, "\n")) != NULL)
        strv_push(lines, line);
}

static void check_kept(const struct envv *before, const struct envv *after)
{
    for (size_t i = 0; i < before->count; i++) {
        const char *entry = before->items[i];
        const char *equals = strchr(entry, '=');

        if (!equals || equals == entry || str_has_prefix(entry, JOBENV_DEFAULT_PREFIX))
            continue;
        AUTO(mem) char *name = mem_strndup(entry, (size_t)(equals - entry));
        if (!str_eq(name, "PATH"))
            assert(str_eq(envv_get(before, name), envv_get(after, name)));
    }
}

static void check_single(const struct envv *before, const struct envv *after)
{
    for (size_t i = 0; i < after->added.count; i++) {
        const char *entry = after->added.items[i];
        AUTO(mem) char *name = mem_strndup(entry, strcspn(entry, "="));

        assert(str_eq(name, "PATH") || !envv_get(before, name));
        for (size_t j = 0; j < i; j++)
            assert(strncmp(entry, after->added.items[j], strlen(name) + 1) != 0);
        assert(str_eq(envv_get(after, name), entry + strlen(name) + 1));
    }
}

static uint32_t number(const struct envv *env, const char *name)
{
    uint32_t value = 0;

    assert(parse_u32(envv_get(env, name), 0, UINT32_MAX, &value));
    return value;
}

/* Only if all of them come from the launcher: a user's own numbers are not checked. */
static void check_share(const struct envv *before, const struct envv *after)
{
    static const char *const names[] = {POPDIST_ENV_NUM_TOTAL_REPLICAS, POPDIST_ENV_NUM_IPUS_PER_REPLICA,
                                        POPDIST_ENV_NUM_LOCAL_REPLICAS, POPDIST_ENV_REPLICA_INDEX_OFFSET};
    uint32_t value[COUNT_OF(names)];

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        AUTO(mem) char *wrapped = mem_printf("%s%s", JOBENV_DEFAULT_PREFIX, names[i]);

        if (envv_get(before, names[i]) || envv_get(before, wrapped) || !envv_get(after, names[i]))
            return;
        value[i] = number(after, names[i]);
    }
    assert(value[0] > 0 && value[1] > 0 && value[2] > 0);
    assert(value[0] % value[2] == 0 && value[3] % value[2] == 0 && value[3] < value[0]);
    assert(value[0] * value[1] == number(after, "IPU_JOB_IPUS_PER_INSTANCE"));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    AUTO(mem) char *text = mem_strndup((const char *)bytes, len);
    AUTO(strv) struct strv lines = {0};
    AUTO(envv) struct envv before = {0};
    AUTO(envv) struct envv after = {0};
    struct err err;

    split(text, &lines);
    envv_init(&before, strv_argv(&lines));
    envv_init(&after, strv_argv(&lines));
    if (!jobenv_complete(&after, "/ipu", &err)) {
        assert(err.msg[0]);
        return 0;
    }
    check_kept(&before, &after);
    check_single(&before, &after);
    check_share(&before, &after);
    return 0;
}
