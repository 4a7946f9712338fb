#include "operator/api/names.h"

#include <ctype.h>
#include <string.h>

#include "base/core/fnv.h"
#include "base/core/mem.h"
#include "base/core/str.h"

static void first_hex_digits(const char *uid, char out[11])
{
    size_t n = 0;

    for (; *uid && n < 10; uid++) {
        if (isxdigit((unsigned char)*uid))
            out[n++] = *uid;
    }
    out[n] = '\0';
}

/* "<job><suffix>" if that is valid as a part of a host name, else with the job's name truncated and digits
 * of the uid. */
static char *host_label(const char *job, const char *uid, const char *suffix, const char *before_digits)
{
    bool needs_more = *before_digits && isdigit((unsigned char)*job);
    AUTO(mem) char *base = mem_printf("%s%s", needs_more ? before_digits : "", job);
    char hex[11];

    if (!needs_more && !strchr(job, '.') && strlen(job) + strlen(suffix) <= LABEL_MAX)
        return mem_printf("%s%s", job, suffix);
    first_hex_digits(uid, hex);
    AUTO(mem) char *tail = mem_printf("-%s%s", hex, suffix);
    size_t cut = strnlen(base, LABEL_MAX - strlen(tail));

    for (char *p = base; *p; p++)
        *p = *p == '.' ? '-' : *p;
    while (cut > 1 && base[cut - 1] == '-')
        cut--;
    return mem_printf("%.*s%s", (int)cut, base, tail);
}

char *name_worker_pod(const char *job, uint32_t n)
{
    return mem_printf("%s-worker-%u", job, n);
}

char *name_worker_host(const char *job, const char *uid, uint32_t n)
{
    AUTO(mem) char *suffix = mem_printf("-worker-%u", n);

    return host_label(job, uid, suffix, "");
}

/* Names of Services start with a letter. */
char *name_worker_service(const char *job, const char *uid)
{
    return host_label(job, uid, "-workers", "job-");
}

char *name_launcher_pod(const char *job, uint32_t instance)
{
    return instance == 0 ? mem_printf("%s-launcher", job) : mem_printf("%s-launcher-%u", job, instance);
}

char *name_keys_secret(const char *job, const char *uid, bool has_launcher, uint32_t instance, uint32_t start)
{
    const char *what = has_launcher ? "mpi" : "vipu";

    if (instance == 0)
        return mem_printf("%s-%s-%.8s-%u", job, what, uid, start);
    return mem_printf("%s-%s-%.8s-%u-%u", job, what, uid, instance, start);
}

char *name_network_policy(const char *job)
{
    return mem_printf("%s-peers", job);
}

char *name_partition(const char *prefix, const char *job, const char *ns, uint32_t instance)
{
    AUTO(mem) char *id = mem_printf("%s-%s-%s-%u", prefix, job, ns, instance);

    if (strlen(id) > PARTITION_ID_MAX)
        return NULL;
    return TAKE(id);
}

static char *hashed_tail(const char *uid, uint32_t instance, uint32_t attempt)
{
    char hex[11];

    first_hex_digits(uid, hex);
    return mem_printf("-%s-%u-%u", hex, instance, attempt);
}

char *name_partition_hashed(const char *prefix, const char *job, const char *uid, uint32_t instance,
                            uint32_t attempt)
{
    AUTO(mem) char *tail = hashed_tail(uid, instance, attempt);
    size_t taken = strlen(prefix) + 1 + strlen(tail);
    size_t room = taken < PARTITION_ID_MAX ? PARTITION_ID_MAX - taken : 1;
    size_t cut = strnlen(job, room);

    /* Its record has the same name, and names of Kubernetes objects may not contain ".-". */
    while (cut > 1 && !isalnum((unsigned char)job[cut - 1]))
        cut--;
    return mem_printf("%s-%.*s%s", prefix, (int)cut, job, tail);
}

char *name_uid_of_later_operator(const char *uid, const char *operator_ns)
{
    AUTO(mem) char *both = mem_printf("%s %s", uid, operator_ns);

    return mem_printf("%016llx", (unsigned long long)str_hash(both));
}

char *partition_id_next_owner(const char *prefix, const char *id, size_t *at, uint32_t *ret_instance)
{
    const char *last = strrchr(id, '-');
    size_t from = strlen(prefix) + 1, end = last ? (size_t)(last - id) : 0;

    if (end <= from || strncmp(id, prefix, from - 1) != 0 || id[from - 1] != '-' ||
        !parse_u32(last + 1, 0, UINT32_MAX, ret_instance))
        return NULL;
    for (size_t i = *at > from ? *at : from + 1; i + 1 < end; i++) {
        if (id[i] != '-')
            continue;
        *at = i + 1;
        return mem_printf("%.*s/%.*s", (int)(end - i - 1), id + i + 1, (int)(i - from), id + from);
    }
    return NULL;
}

bool name_is_hashed(const char *id, const char *uid, const char *operator_ns, uint32_t instance,
                    uint32_t attempt)
{
    AUTO(mem) char *later_uid = name_uid_of_later_operator(uid, operator_ns);
    AUTO(mem) char *tail = hashed_tail(uid, instance, attempt);
    AUTO(mem) char *later_tail = hashed_tail(later_uid, instance, attempt);

    return str_has_suffix(id, tail) || str_has_suffix(id, later_tail);
}

char *namespace_of_key(const char *key)
{
    return mem_strndup(key, strcspn(key, "/"));
}

uint16_t name_master_port(const char *uid, uint32_t instance)
{
    uint32_t hash = fnv32_add(fnv32_add_bytes(FNV32_BASIS, uid, strlen(uid)), instance);

    return (uint16_t)(20000 + hash % 10000);
}

bool released_id_next(const char **at, struct slice *ret)
{
    static const char separators[] = ", ";

    *at += strspn(*at, separators);
    *ret = (struct slice){*at, strcspn(*at, separators)};
    *at += ret->len;
    return ret->len > 0;
}
