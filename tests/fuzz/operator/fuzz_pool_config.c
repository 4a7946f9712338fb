/* Any file as the list of V-IPU controllers: mistakes are lines that begin with its name, and what was read
 * in spite of them can be used: no two controllers of one name, hosts and ports, and Secrets whose names lead
 * to no other folder than their own. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "operator/pool/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_problems(const struct strv *problems)
{
    for (size_t i = 0; i < problems->count; i++) {
        assert(str_has_prefix(problems->items[i], "c.yaml: "));
        assert(!strchr(problems->items[i], '\n'));
    }
}

static void check_secret(const char *name)
{
    if (!name)
        return;
    assert(*name && strlen(name) <= 253 && name[0] != '.');
    assert(!name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.")]);
}

static void check_controller(const struct pool_config *config, size_t index)
{
    const struct vipu_controller_config *item = &config->items[index];

    assert(*item->host && item->port && !strpbrk(item->host, " /@"));
    assert(!item->node_label == !item->node_value);
    check_secret(item->secret);
    for (size_t i = 0; i < index; i++)
        assert(!str_eq(config->items[i].name, item->name));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct pool_config config = {0};
    AUTO(strv) struct strv problems = {0};

    pool_config_add_yaml(&config, (struct slice){(const char *)bytes, len}, "c.yaml", &problems);
    check_problems(&problems);
    for (size_t i = 0; i < config.count; i++)
        check_controller(&config, i);
    pool_config_release(&config);
    return 0;
}
