/* Any list of hosts, and the same as a host file: something is wrong with it or it names hosts, and no host
 * is empty, looks like an option or has a blank or a colon in it, and there are not too many. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/core/mem.h"
#include "launcher/poprun/plan/hosts.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(const struct strv *hosts, const struct strv *problems)
{
    assert(hosts->count || problems->count);
    assert(hosts->count <= HOSTS_MAX && problems->count <= HOSTS_PROBLEMS_MAX);
    for (size_t i = 0; i < hosts->count; i++) {
        const char *host = hosts->items[i];

        assert(*host && *host != '-');
        assert(host[strcspn(host, " \t\n,:[]'\"\\")] == '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    AUTO(mem) char *text = mem_strndup((const char *)bytes, len);
    AUTO(strv) struct strv listed = {0}, filed = {0}, unlisted = {0}, unfiled = {0};

    hosts_read_list(text, &listed, &unlisted);
    check(&listed, &unlisted);
    hosts_read_file((struct slice){(const char *)bytes, len}, "hosts", &filed, &unfiled);
    check(&filed, &unfiled);
    return 0;
}
